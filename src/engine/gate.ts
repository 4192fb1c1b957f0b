import type { ExecutionGrant } from "../policy/policy.ts";
import type { ToolCall } from "./call.ts";
import type { DispatchContext } from "./context.ts";
import { decide } from "./decide.ts";
import { chain, type MaybePromise } from "./maybe-promise.ts";
import { denial } from "./refusal.ts";

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
