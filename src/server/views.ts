import type { Inquiry, InquiryRecord } from "../sessions/confirmations/inquiry.ts";

/** An inquiry as it is listed: without what can be long. */
export function inquiryView(inquiry: Inquiry): object {
  const { id: requestId, shown, kind, sessionId, turnId, messageId, callId, principal, parent } = inquiry;
  const { digest, choices, askedAt, expiresAt } = inquiry;
  const { toolName, sideEffects, inputSummary, projectedChanges, question, grant } = shown;
  return {
    ...{ requestId, kind, sessionId, turnId },
    ...(messageId !== undefined && { messageId }),
    callId,
    ...(principal !== undefined && { principal }),
    ...(parent !== undefined && { parent }),
    ...{ toolName, sideEffects, inputSummary: inputSummary.text, missing: inputSummary.missing },
    ...{ projectedChanges, question, digest, grant, choices, askedAt, expiresAt },
  };
}

/** A whole inquiry: with all the arguments, secrets included, and how it ended. */
export function wholeInquiryView({ inquiry, resolution }: InquiryRecord): object {
  const { arguments: args, rules } = inquiry.shown;
  return {
    ...inquiryView(inquiry),
    ...{ arguments: args, rules },
    ...(resolution !== undefined && { resolution: { ...resolution } }),
  };
}
