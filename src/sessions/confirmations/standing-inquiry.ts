import type { CallKey, InquiryRecord, NewInquiry, Resolution } from "./inquiry.ts";

/**
 * Returns what was asked about a call that a tool makes, and holds for a new question about it: what a person denied, or else
 * the same question, open or answered. A tool that goes on in another process makes its calls again, under the same ids, and
 * claims them. Nothing holds for calls of the model, for which an answer is used once, and for questions of a running tool.
 *
 * @param records What was asked about the call, in order.
 */
export function standingInquiry(
  records: readonly InquiryRecord[],
  question: NewInquiry,
): InquiryRecord | undefined {
  const { kind, callId, parent } = question;
  if (kind === "question" || parent === undefined || !callId.startsWith(`${parent}/`)) return undefined;
  const about = records.filter(({ inquiry }) => inquiry.kind !== "question");
  const denied = about.find(({ resolution }) => resolution?.decision === "deny");
  return (
    denied ??
    about.findLast(
      ({ inquiry, resolution }) =>
        inquiry.digest === question.digest && (resolution === undefined || isByPerson(resolution)),
    )
  );
}

/** Whether a person has decided, and not the time or the end of the call. */
function isByPerson({ decision }: Resolution): boolean {
  return decision !== "timeout" && decision !== "cancelled";
}

/** Whether the tool of a call made the call that an inquiry is about, directly or not. */
export function isBelow(inquiry: CallKey, { sessionId, turnId, messageId, callId }: CallKey): boolean {
  return (
    inquiry.sessionId === sessionId &&
    inquiry.turnId === turnId &&
    inquiry.messageId === messageId &&
    inquiry.callId.startsWith(`${callId}/`)
  );
}
