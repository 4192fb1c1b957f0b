import type { MaybePromise } from "../../base/promises.ts";
import { decide, type Question } from "../asking/decide.ts";
import type { AgentHooks, ToolStart } from "../call/hooks.ts";
import { shownName } from "../in-flight/shown-name.ts";
import type { PlacedCall } from "../in-flight/state.ts";
import { readVerdict } from "./gate.ts";

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
  return decide(QUESTION, Object.freeze(start), shownName(call), ctx);
}

const QUESTION: Question<ToolStart, undefined> = {
  to: "hook",
  ask: (start, { hooks }) => (hooks as AgentHooks).onToolStart?.(start),
  read: readVerdict,
};
