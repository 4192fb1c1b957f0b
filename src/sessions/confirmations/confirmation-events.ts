import type { DispatchContext } from "../../engine/call/context.ts";
import type { DispatchEventBase, DispatchEventBody } from "../../engine/call/events.ts";
import { redactEvent } from "../../engine/reporting/redacted.ts";
import type { Principal } from "../../policy/principal.ts";
import type { ConfirmationEvent, ConfirmationListener } from "./confirmation-broker.ts";

/**
 * Returns a listener that emits what happens to confirmations into the stream of the calls' events.
 *
 * @param principalOf Returns the principal of a session.
 */
export function emitInto(
  { events, redaction }: Pick<DispatchContext, "events" | "redaction">,
  principalOf: (sessionId: string) => Principal | undefined,
): ConfirmationListener {
  return (event) => {
    if (!events?.listening) return;
    const { callId, sessionId, shown, parent } = event.confirmation;
    const principal = principalOf(sessionId);
    const base: DispatchEventBase = {
      callId,
      sessionId,
      toolName: shown.toolName,
      ...(principal !== undefined && { principal }),
      ...(parent !== undefined && { parent }),
      at: event.type === "resolved" ? event.resolution.at : event.confirmation.askedAt,
    };
    const emitted = { ...base, ...bodyOf(event) };
    events.emit(redaction === undefined ? emitted : redactEvent(emitted, redaction));
  };
}

function bodyOf(event: ConfirmationEvent): DispatchEventBody {
  const { confirmation } = event;
  const { id: requestId, turnId, digest, expiresAt } = confirmation;
  if (event.type === "resolved") {
    const { decision, by } = event.resolution;
    return { type: "tool.confirmation_resolved", requestId, decision, ...(by !== undefined && { by }) };
  }
  const asked = { type: "tool.confirmation_requested", requestId, turnId, digest, expiresAt } as const;
  if (confirmation.kind === "question") {
    const { sideEffects, questionSummary, options, multiple } = confirmation.shown;
    const { text: question, missing } = questionSummary;
    const { kind, choices } = confirmation;
    return { ...asked, kind, sideEffects, question, missing, multiple, ...(options && { options }), choices };
  }
  const { sideEffects, inputSummary, projectedChanges, question, grant } = confirmation.shown;
  return {
    ...asked,
    kind: confirmation.kind,
    sideEffects,
    choices: confirmation.choices,
    inputSummary: inputSummary.text,
    missing: inputSummary.missing,
    projectedChanges,
    question,
    grant,
  };
}
