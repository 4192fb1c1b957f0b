import type { MaybePromise } from "../../base/promises.ts";
import { describeThrown } from "../../base/thrown.ts";
import type { ToolCall } from "../call/call.ts";
import type { AgentHooks, ToolStart } from "../call/hooks.ts";
import { decide, type Question } from "../decide.ts";
import type { CallState, PlacedCall } from "../in-flight/state.ts";
import { shownName } from "../in-flight/state.ts";
import { cancelled, denial } from "../refusal.ts";

const START_QUESTION: Question<ToolStart, undefined> = {
  to: "hook",
  ask: (start, { hooks }) => (hooks as AgentHooks).onToolStart?.(start),
  read: readVerdict,
};

/**
 * Asks the `onToolCall` hook, which sees the call as the model sent it.
 *
 * @returns `"abort"` if the hook aborts the call before it has begun.
 * @throws {Refusal} `permission_denied` if the hook denies the call, aborts it later or fails, `cancelled`.
 */
export function passGate(call: CallState): MaybePromise<"abort" | undefined> {
  const { received, ctx } = call;
  if (ctx.signal?.aborted) throw cancelled();
  if (ctx.hooks === undefined) return undefined;
  const { id, name, arguments: args } = received;
  return decide(
    received.isSuspended ? AGAIN : QUESTION,
    Object.freeze({ id, name, arguments: args }),
    shownName(call),
    ctx,
  );
}

const QUESTION: Question<ToolCall, "abort" | undefined> = {
  to: "hook",
  ask: (call, { hooks }) => (hooks as AgentHooks).onToolCall?.(call),
  read: (answer, tool) => (answer === "abort" ? answer : readVerdict(answer, tool)),
};

/** A call that an earlier process began cannot be left out any more: what it did is reported. */
const AGAIN: typeof QUESTION = {
  ...QUESTION,
  read: (answer, tool) => {
    if (answer === "abort") throw denial(tool, "hook", "the hook aborts a call that had begun");
    return readVerdict(answer, tool);
  },
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

/**
 * Asks the `onToolStart` hook, which sees the validated arguments and the grant.
 *
 * @throws {Refusal} `permission_denied` if the hook denies the call or fails, `cancelled`.
 */
export function passLastHook(call: PlacedCall): MaybePromise<undefined> {
  const { received, ctx, principal, input, grant } = call;
  const { hooks, sessionId } = ctx;
  if (hooks === undefined) return undefined;
  const { id: callId, name: toolName } = received;
  const start: ToolStart =
    principal === undefined
      ? { callId, sessionId, toolName, input, grant }
      : { callId, sessionId, toolName, principal, input, grant };
  return decide(START_QUESTION, Object.freeze(start), shownName(call), ctx);
}
