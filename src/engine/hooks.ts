import type { JsonValue } from "../json/value.ts";
import type { ExecutionGrant } from "../policy/policy.ts";
import type { ToolCall } from "./call.ts";
import type { DispatchContext } from "./context.ts";
import { decide } from "./decide.ts";
import { chain, type MaybePromise } from "./maybe-promise.ts";
import { denial } from "./refusal.ts";

/**
 * The embedder's say in each call. Hooks can only tighten: they see frozen data, and no answer of theirs
 * grants anything. A hook that throws, answers nonsense, or takes longer than the context's
 * `decisionTimeoutMs` denies the call.
 */
export interface AgentHooks {
  /**
   * Asked first, before lookup and parsing. `"abort"` ends the call without a result: nothing ran, and
   * `dispatch` gives `null`. `{ deny }` fails it with `permission_denied`.
   */
  onToolCall?(call: ToolCall): CallVerdict | Promise<CallVerdict>;
  /** Asked last, after the policy's grant and right before the sandbox. */
  onToolStart?(start: ToolStart): StartVerdict | Promise<StartVerdict>;
}

/** Nothing and `"continue"` let the call go on. A reason is for the operator, never for the model. */
// biome-ignore lint/suspicious/noConfusingVoidType: a hook that merely watches returns nothing
export type StartVerdict = void | undefined | "continue" | { readonly deny: string };

/** A {@link StartVerdict}, or the end of the call without a result. */
export type CallVerdict = StartVerdict | "abort";

/** A call that is about to run. Frozen. */
export interface ToolStart {
  readonly callId: string;
  readonly sessionId: string;
  readonly toolName: string;
  /** The validated arguments, deeply frozen. */
  readonly input: JsonValue;
  readonly grant: ExecutionGrant;
}

/**
 * Step 1: the hook gate.
 *
 * @throws {Refusal} when the hook denies, or cannot decide.
 */
export function passGate(call: ToolCall, ctx: DispatchContext): MaybePromise<"continue" | "abort"> {
  const { hooks } = ctx;
  if (hooks?.onToolCall === undefined) return "continue";
  const answer = decide(() => hooks.onToolCall?.(call), "hook-failed", call.name, ctx);
  return chain(answer, (verdict) => (verdict === "abort" ? "abort" : readVerdict(verdict, call.name)));
}

/**
 * Step 5: the hooks' last word before the sandbox.
 *
 * @throws {Refusal} as {@link passGate}.
 */
export function passStart(
  call: ToolCall,
  grant: ExecutionGrant,
  ctx: DispatchContext,
): MaybePromise<"continue"> {
  const { hooks, sessionId } = ctx;
  if (hooks?.onToolStart === undefined) return "continue";
  const start = Object.freeze({
    callId: call.id,
    sessionId,
    toolName: call.name,
    input: call.arguments,
    grant,
  });
  const answer = decide(() => hooks.onToolStart?.(start), "hook-failed", call.name, ctx);
  return chain(answer, (verdict) => readVerdict(verdict, call.name));
}

function readVerdict(verdict: unknown, tool: string): "continue" {
  if (verdict === undefined || verdict === "continue") return "continue";
  if (typeof verdict === "object" && verdict !== null && "deny" in verdict) {
    throw denial(tool, "hook", String(verdict.deny));
  }
  throw denial(tool, "hook-failed", "the answer is no verdict");
}
