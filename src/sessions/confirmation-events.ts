import type { DispatchContext } from "../engine/call/context.ts";
import type { DispatchEventBase, DispatchEventBody } from "../engine/call/events.ts";
import { redactEvent } from "../engine/call/redacted.ts";
import type { Principal } from "../policy/principal.ts";
import type { InquiryEvent, InquiryListener } from "./confirmations/inquiry-listeners.ts";

/**
 * Returns a listener that emits what happens to inquiries into the stream of the calls' events.
 *
 * @param principalOf Returns the principal of a session.
 */
export function emitInto(
  { events, redaction }: Pick<DispatchContext, "events" | "redaction">,
  principalOf: (sessionId: string) => Principal | undefined,
): InquiryListener {
  return (event) => {
    if (!events?.listening) return;
    const { callId, sessionId, shown, parent } = event.inquiry;
    const principal = principalOf(sessionId);
    const base: DispatchEventBase = {
      ...{ callId, sessionId, toolName: shown.toolName },
      ...(principal !== undefined && { principal }),
      ...(parent !== undefined && { parent }),
      at: event.type === "resolved" ? event.resolution.at : event.inquiry.askedAt,
    };
    const emitted = { ...base, ...bodyOf(event) };
    events.emit(redaction === undefined ? emitted : redactEvent(emitted, redaction));
  };
}

function bodyOf(event: InquiryEvent): DispatchEventBody {
  const { id: requestId, turnId, shown, digest, expiresAt, choices } = event.inquiry;
  if (event.type === "resolved") {
    const { decision, by } = event.resolution;
    return { type: "tool.confirmation_resolved", requestId, decision, ...(by !== undefined && { by }) };
  }
  const { sideEffects, inputSummary, projectedChanges, question, grant } = shown;
  return {
    ...{ type: "tool.confirmation_requested", requestId, turnId, sideEffects },
    ...{ inputSummary: inputSummary.text, missing: inputSummary.missing },
    ...{ projectedChanges, question, digest, grant, expiresAt, choices },
  };
}
