import type { DispatchContext } from "../../engine/call/context.ts";
import type { DispatchEventBase, DispatchEventBody } from "../../engine/call/events.ts";
import { redactEvent } from "../../engine/reporting/redacted.ts";
import type { Principal } from "../../policy/principal.ts";
import type { ConfirmationEvent, InquiryListener } from "./confirmation-broker.ts";

/**
 * Returns a listener that emits what happens to confirmations into the stream of the calls' events.
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
      callId,
      sessionId,
      toolName: shown.toolName,
      ...(principal !== undefined && { principal }),
      ...(parent !== undefined && { parent }),
      at: event.type === "resolved" ? event.resolution.at : event.inquiry.askedAt,
    };
    const emitted = { ...base, ...bodyOf(event) };
    events.emit(redaction === undefined ? emitted : redactEvent(emitted, redaction));
  };
}

function bodyOf(event: ConfirmationEvent): DispatchEventBody {
  const { inquiry } = event;
  const { id: requestId, turnId, digest, expiresAt } = inquiry;
  if (event.type === "resolved") {
    const { decision, by } = event.resolution;
    return { type: "tool.confirmation_resolved", requestId, decision, ...(by !== undefined && { by }) };
  }
  const asked = { type: "tool.confirmation_requested", requestId, turnId, digest, expiresAt } as const;
  if (inquiry.kind === "question") {
    const { sideEffects, questionSummary, options, multiple } = inquiry.shown;
    const { text: question, missing } = questionSummary;
    const { kind, choices } = inquiry;
    return { ...asked, kind, sideEffects, question, missing, multiple, ...(options && { options }), choices };
  }
  const { sideEffects, inputSummary, projectedChanges, question, grant } = inquiry.shown;
  return {
    ...asked,
    kind: inquiry.kind,
    sideEffects,
    choices: inquiry.choices,
    inputSummary: inputSummary.text,
    missing: inputSummary.missing,
    projectedChanges,
    question,
    grant,
  };
}
