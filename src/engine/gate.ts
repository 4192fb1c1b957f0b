import type { ExecutionGrant } from "../policy/policy.ts";
import { describeThrown } from "../sandboxes/thrown.ts";
import type { ToolCall } from "./call.ts";
import type { DispatchContext } from "./context.ts";
import { decide } from "./decide.ts";
import type { MaybePromise } from "./maybe-promise.ts";
import { denial } from "./refusal.ts";

/**
 * Step 1: the hook gate.
 *
 * @throws {Refusal} when the hook denies, or cannot decide.
 */
export function passGate(call: ToolCall, ctx: DispatchContext): MaybePromise<"continue" | "abort"> {
  const { hooks } = ctx;
  if (hooks === undefined) return "continue";
  const { name: tool } = call;
  const ask = (): unknown => hooks.onToolCall?.(call);
  const read = (answer: unknown): "continue" | "abort" =>
    answer === "abort" ? answer : readVerdict(answer, tool);
  return decide({ to: "hook", tool, ask, read }, ctx);
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
  if (hooks === undefined) return "continue";
  const { id: callId, name: tool, arguments: input } = call;
  const start = Object.freeze({ callId, sessionId, toolName: tool, input, grant });
  const ask = (): unknown => hooks.onToolStart?.(start);
  return decide({ to: "hook", tool, ask, read: (answer) => readVerdict(answer, tool) }, ctx);
}

function readVerdict(verdict: unknown, tool: string): "continue" {
  if (verdict === undefined || verdict === "continue") return "continue";
  if (typeof verdict === "object" && verdict !== null && "deny" in verdict) {
    throw denial(tool, "hook", describeThrown(verdict.deny).detail);
  }
  throw denial(tool, "hook-failed", "the answer is no verdict");
}
