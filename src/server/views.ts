import type { Inquiry, InquiryRecord } from "../sessions/confirmations/inquiry.ts";

/** An inquiry as it is listed: without what can be long. */
export function inquiryView(inquiry: Inquiry): object {
  const { digest } = inquiry;
  if (inquiry.kind === "question") {
    const { questionSummary, options, multiple } = inquiry.shown;
    const { text: question, missing } = questionSummary;
    return {
      ...identityView(inquiry),
      ...{ question, missing, ...(options && { options }), multiple, digest },
    };
  }
  const { inputSummary, projectedChanges, question, grant } = inquiry.shown;
  return {
    ...identityView(inquiry),
    ...{ inputSummary: inputSummary.text, missing: inputSummary.missing },
    ...{ projectedChanges, question, digest, grant },
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

/** A whole inquiry: with all the arguments or the whole question, secrets included, and how it ended. */
export function wholeInquiryView({ inquiry, resolution }: InquiryRecord): object {
  return {
    ...inquiryView(inquiry),
    ...wholeText(inquiry),
    ...(inquiry.kind !== "question" && { rules: inquiry.shown.rules }),
    ...(resolution !== undefined && { resolution: { ...resolution } }),
  };
}

/** The same for the caller of its session: without the policy's rules, and of a nested call not what it is about. */
export function callerWholeInquiryView({ inquiry, resolution }: InquiryRecord): object {
  const isNested = inquiry.parent !== undefined;
  const { arguments: edited, approval, answer, ...outcome } = resolution ?? {};
  const own = {
    ...(edited !== undefined && { arguments: edited }),
    ...(approval && { approval }),
    ...(answer !== undefined && { answer }),
  };
  return {
    ...callerInquiryView(inquiry),
    ...(!isNested && wholeText(inquiry)),
    ...(resolution !== undefined && { resolution: isNested ? outcome : { ...outcome, ...own } }),
  };
}

function wholeText(inquiry: Inquiry): object {
  return inquiry.kind === "question"
    ? { wholeQuestion: inquiry.shown.question }
    : { arguments: inquiry.shown.arguments };
}
