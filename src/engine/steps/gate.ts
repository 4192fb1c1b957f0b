import { describeThrown } from "../../base/thrown.ts";
import type { JsonValue } from "../../json/value.ts";
import type { ExecutionGrant } from "../../policy/policy.ts";
import type { ToolCall } from "../call/call.ts";
import type { DispatchContext } from "../call/context.ts";
import type { AgentHooks, ToolStart } from "../call/hooks.ts";
import { denial } from "../call/refusal.ts";
import type { MaybePromise } from "../maybe-promise.ts";
import { decide, type Question } from "./decide.ts";

const CALL_QUESTION: Question<ToolCall, "continue" | "abort"> = {
  to: "hook",
  ask: (call, { hooks }) => (hooks as AgentHooks).onToolCall?.(call),
  read: (answer, tool) => (answer === "abort" ? answer : readVerdict(answer, tool)),
};

const START_QUESTION: Question<ToolStart, "continue"> = {
  to: "hook",
  ask: (start, { hooks }) => (hooks as AgentHooks).onToolStart?.(start),
  read: readVerdict,
};

/**
 * Reads a hook's verdict: returns if the call may go on.
 *
 * @throws {Refusal} `permission_denied` if the hook denied the call, or returned anything else.
 */
export function passGate(
  { id, name, arguments: args }: ToolCall,
  ctx: DispatchContext,
): MaybePromise<"continue" | "abort"> {
  if (ctx.hooks === undefined) return "continue";
  return decide(CALL_QUESTION, Object.freeze({ id, name, arguments: args }), name, ctx);
}

/**
 * Step 5: the hooks' last word before the sandbox.
 *
 * @throws {Refusal} as {@link passGate}.
 */
export function passStart(
  { id: callId, name: toolName }: ToolCall,
  input: JsonValue,
  grant: ExecutionGrant,
  ctx: DispatchContext,
): MaybePromise<"continue"> {
  const { hooks, sessionId } = ctx;
  if (hooks === undefined) return "continue";
  const start = Object.freeze({ callId, sessionId, toolName, input, grant });
  return decide(START_QUESTION, start, toolName, ctx);
}

function readVerdict(verdict: unknown, tool: string): "continue" {
  if (verdict === undefined || verdict === "continue") return "continue";
  if (typeof verdict === "object" && verdict !== null && "deny" in verdict) {
    throw denial(tool, "hook", describeThrown(verdict.deny).detail);
  }
  throw denial(tool, "hook-failed", "the hook returned an invalid verdict");
}
