import type { DispatchEvent } from "../engine/call/events.ts";
import type { ConfirmationEvent } from "../sessions/confirmations/confirmation-broker.ts";
import type { NestedEvent, SessionEvent } from "../shapes/turns.ts";
import { callerConfirmationView, confirmationView } from "./confirmation-views.ts";

/**
 * Returns what the clients of a session learn of an event: not what is for operators, such as stacks, paths and names of
 * rules. `undefined` for events that {@link publicConfirmationEvent} returns instead.
 */
export function publicEvent(event: DispatchEvent): SessionEvent | undefined {
  const { type, callId, toolName, parent, at } = event;
  const base = { callId, toolName, ...(parent !== undefined && { parent }), at };
  switch (type) {
    case "tool.confirmation_requested":
    case "tool.confirmation_resolved":
      return undefined;
    case "tool.decided": {
      const { decision, confirmedBy } = event;
      return { type, ...base, decision, ...(confirmedBy !== undefined && { confirmedBy }) };
    }
    case "tool.started":
      return { type, ...base, sideEffects: event.sideEffects, arguments: { digest: event.canonical.digest } };
    case "tool.output":
      return { type, ...base, chunk: event.chunk };
    case "tool.display":
      return { type, ...base, format: event.format, source: event.source };
    case "tool.log":
      return { type, ...base, level: event.level, message: event.message };
    case "tool.completed":
    case "tool.failed":
      return { type, ...base, execution: event.execution };
    case "tool.aborted":
      return { type, ...base };
  }
}

/**
 * Returns what the caller of a session learns of a nested call: which tool it calls, and its effect. `undefined` for events
 * that {@link publicConfirmationEvent} returns instead.
 */
export function nestedEvent(event: DispatchEvent & { readonly parent: string }): NestedEvent | undefined {
  const { type, callId, toolName, parent, at } = event;
  const base = { callId, toolName, parent, at };
  switch (type) {
    case "tool.confirmation_requested":
    case "tool.confirmation_resolved":
      return undefined;
    case "tool.decided":
      return { type, ...base, decision: event.decision };
    case "tool.started":
      return { type, ...base, sideEffects: event.sideEffects };
    case "tool.completed":
    case "tool.failed": {
      const { success, error } = event.execution;
      return { type, ...base, success, ...(error && { error: { code: error.code, effect: error.effect } }) };
    }
    default:
      return { type, ...base };
  }
}

/**
 * Returns what the clients of a session learn of a confirmation.
 *
 * @param isCaller Whether it is for the caller of the session.
 */
export function publicConfirmationEvent(event: ConfirmationEvent, isCaller: boolean): SessionEvent {
  if (event.type === "requested") {
    const view = isCaller ? callerConfirmationView(event.confirmation) : confirmationView(event.confirmation);
    return { type: "tool.confirmation_requested", ...view };
  }
  const { id: requestId, sessionId, callId, turnId, parent, shown } = event.confirmation;
  const { decision, by, at } = event.resolution;
  return {
    type: "tool.confirmation_resolved",
    requestId,
    sessionId,
    callId,
    turnId,
    toolName: shown.toolName,
    decision,
    ...(parent !== undefined && { parent }),
    ...(by !== undefined && { by }),
    at,
  };
}
