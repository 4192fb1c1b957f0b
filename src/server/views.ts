import type { Inquiry, InquiryRecord } from "../sessions/confirmations/inquiry.ts";

/** An inquiry as it is listed: without what can be long. */
export function inquiryView(inquiry: Inquiry): object {
  const { inputSummary, projectedChanges, question, grant } = inquiry.shown;
  return {
    ...identityView(inquiry),
    ...{ inputSummary: inputSummary.text, missing: inputSummary.missing },
    ...{ projectedChanges, question, digest: inquiry.digest, grant },
  };
}

/** An inquiry as it is listed to the caller of its session: of a nested call, it learns no more than that it is asked. */
export function callerInquiryView(inquiry: Inquiry): object {
  return inquiry.parent === undefined ? inquiryView(inquiry) : identityView(inquiry);
}

/** What a nested call is about is between its tool and those who answer. Its digest would confirm a guess. */
function identityView(inquiry: Inquiry): object {
  const { id: requestId, shown, kind, sessionId, turnId, messageId, callId, principal, parent } = inquiry;
  const { choices, askedAt, expiresAt } = inquiry;
  const { toolName, sideEffects } = shown;
  return {
    ...{ requestId, kind, sessionId, turnId },
    ...(messageId !== undefined && { messageId }),
    callId,
    ...(principal !== undefined && { principal }),
    ...(parent !== undefined && { parent }),
    ...{ toolName, sideEffects, choices, askedAt, expiresAt },
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

/** The same for the caller of its session: without the policy's rules, and of a nested call not what it is about. */
export function callerWholeInquiryView({ inquiry, resolution }: InquiryRecord): object {
  const { arguments: args } = inquiry.shown;
  const isNested = inquiry.parent !== undefined;
  const { arguments: edited, approval, ...outcome } = resolution ?? {};
  const own = { ...(edited !== undefined && { arguments: edited }), ...(approval && { approval }) };
  return {
    ...callerInquiryView(inquiry),
    ...(!isNested && { arguments: args }),
    ...(resolution !== undefined && { resolution: isNested ? outcome : { ...outcome, ...own } }),
  };
}
