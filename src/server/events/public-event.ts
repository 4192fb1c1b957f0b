import type { DispatchEvent } from "../../engine/call/events.ts";
import type { InquiryEvent } from "../../sessions/confirmations/inquiry-listeners.ts";
import { inquiryView } from "../views.ts";

/**
 * Returns what the clients of a session learn of an event: not what is for operators, such as stacks, paths and names of
 * rules. `undefined` for events that {@link publicInquiryEvent} tells instead.
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
    case "tool.log":
      return { ...base, level: event.level, message: event.message };
    case "tool.completed":
    case "tool.failed":
      return { ...base, execution: event.execution };
    case "tool.aborted":
      return base;
  }
}

/** Returns what the clients of a session learn of an inquiry. */
export function publicInquiryEvent(event: InquiryEvent): object {
  if (event.type === "requested")
    return { type: "tool.confirmation_requested", ...inquiryView(event.inquiry) };
  const { id: requestId, callId, turnId, shown } = event.inquiry;
  const { decision, by, at } = event.resolution;
  return {
    type: "tool.confirmation_resolved",
    ...{ requestId, callId, turnId, toolName: shown.toolName, decision },
    ...(by !== undefined && { by }),
    at,
  };
}
