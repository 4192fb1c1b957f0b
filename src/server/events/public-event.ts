import type { DispatchEvent } from "../../engine/call/events.ts";
import type { ConfirmationEvent } from "../../sessions/confirmations/confirmation-broker.ts";
import { callerConfirmationView, confirmationView } from "../confirmation-views.ts";

/**
 * Returns what the clients of a session learn of an event: not what is for operators, such as stacks, paths and names of
 * rules. `undefined` for events that {@link publicConfirmationEvent} returns instead.
 */
export function publicEvent(event: DispatchEvent): object | undefined {
  const { type, callId, toolName, parent, at } = event;
  const base = { type, callId, toolName, ...(parent !== undefined && { parent }), at };
  switch (event.type) {
    case "tool.confirmation_requested":
    case "tool.confirmation_resolved":
      return undefined;
    case "tool.decided": {
      const { decision, confirmedBy } = event;
      return { ...base, decision, ...(confirmedBy !== undefined && { confirmedBy }) };
    }
    case "tool.started":
      return { ...base, sideEffects: event.sideEffects, arguments: { digest: event.canonical.digest } };
    case "tool.output":
      return { ...base, chunk: event.chunk };
    case "tool.display":
      return { ...base, format: event.format, source: event.source };
    case "tool.log":
      return { ...base, level: event.level, message: event.message };
    case "tool.completed":
    case "tool.failed":
      return { ...base, execution: event.execution };
    case "tool.aborted":
      return base;
  }
}

/** Returns what the caller of a session learns of a nested call: which tool it calls, and its effect. */
export function callerEvent(event: DispatchEvent): object {
  const { type, callId, toolName, parent, at } = event;
  const base = { type, callId, toolName, parent, at };
  switch (event.type) {
    case "tool.decided":
      return { ...base, decision: event.decision };
    case "tool.started":
      return { ...base, sideEffects: event.sideEffects };
    case "tool.completed":
    case "tool.failed": {
      const { success, error } = event.execution;
      return { ...base, success, ...(error && { error: { code: error.code, effect: error.effect } }) };
    }
    default:
      return base;
  }
}

/**
 * Returns what the clients of a session learn of a confirmation.
 *
 * @param isCaller Whether it is for the caller of the session.
 */
export function publicConfirmationEvent(event: ConfirmationEvent, isCaller: boolean): object {
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
