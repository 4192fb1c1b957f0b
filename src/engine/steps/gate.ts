import type { MaybePromise } from "../../base/promises.ts";
import { describeThrown } from "../../base/thrown.ts";
import { decide, type Question } from "../asking/decide.ts";
import type { ToolCall } from "../call/call.ts";
import type { AgentHooks } from "../call/hooks.ts";
import { cancelled, denial } from "../failure/refusal.ts";
import { shownName } from "../in-flight/shown-name.ts";
import type { CallState } from "../in-flight/state.ts";

/**
 * Asks the `onToolCall` hook, which sees the call as the model sent it.
 *
 * @returns `"abort"` if the hook aborts the call.
 * @throws {Refusal} `permission_denied` if the hook denies the call or fails, `cancelled`.
 */
export function passGate(call: CallState): MaybePromise<"abort" | undefined> {
  const { received, ctx } = call;
  if (ctx.signal?.aborted) throw cancelled();
  if (ctx.hooks === undefined) return undefined;
  const { id, name, arguments: args } = received;
  return decide(QUESTION, Object.freeze({ id, name, arguments: args }), shownName(call), ctx);
}

const QUESTION: Question<ToolCall, "abort" | undefined> = {
  to: "hook",
  ask: (call, { hooks }) => (hooks as AgentHooks).onToolCall?.(call),
  read: (answer, tool) => (answer === "abort" ? answer : readVerdict(answer, tool)),
};

/**
 * Reads a hook's verdict: returns if the call may go on.
 *
 * @throws {Refusal} `permission_denied` if the hook denied the call, or returned anything else.
 */
export function readVerdict(verdict: unknown, tool: string): undefined {
  if (verdict === undefined || verdict === "continue") return;
  if (typeof verdict === "object" && verdict !== null && "deny" in verdict) {
    throw denial(tool, "hook", describeThrown(verdict.deny).detail);
  }
  throw denial(tool, "hook-failed", "the hook returned an invalid verdict");
}
