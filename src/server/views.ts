import type { Tool } from "../engine/tool.ts";
import { isJsonObject } from "../json/value.ts";
import type { Inquiry, InquiryRecord } from "../sessions/confirmations/inquiry.ts";
import type { Session } from "../sessions/session.ts";

/** An inquiry as it is listed: without what can be long. */
export function inquiryView(inquiry: Inquiry): object {
  const { digest } = inquiry;
  if (inquiry.kind === "question") {
    const { questionSummary, options, multiple } = inquiry.shown;
    const { text: question, missing } = questionSummary;
    return {
      ...identityView(inquiry),
      question,
      missing,
      ...(options && { options }),
      multiple,
      digest,
    };
  }
  const { inputSummary, projectedChanges, question, grant } = inquiry.shown;
  return {
    ...identityView(inquiry),
    inputSummary: inputSummary.text,
    missing: inputSummary.missing,
    projectedChanges,
    question,
    digest,
    grant,
  };
}

/** Adds what people call the session of an inquiry. */
export function inSession(view: object, { name }: Pick<Session, "name">): object {
  return name === undefined ? view : { ...view, sessionName: name };
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
    requestId,
    kind,
    sessionId,
    turnId,
    ...(messageId !== undefined && { messageId }),
    callId,
    ...(principal !== undefined && { principal }),
    ...(parent !== undefined && { parent }),
    toolName,
    sideEffects,
    choices,
    askedAt,
    expiresAt,
  };
}

/**
 * A whole inquiry: with all the arguments or the whole question, secrets included, and how it ended.
 *
 * @param tool That of the call; `undefined` if it is not registered any more.
 */
export function wholeInquiryView(
  { inquiry, resolution }: InquiryRecord,
  tool: Tool<never, never> | undefined,
): object {
  return {
    ...inquiryView(inquiry),
    ...wholeText(inquiry),
    ...(inquiry.kind !== "question" && {
      rules: inquiry.shown.rules,
      ...(tool && { argumentOrder: argumentOrder(tool) }),
    }),
    ...(resolution !== undefined && { resolution: { ...resolution } }),
  };
}

/** The most names of arguments, and the longest one, in characters. */
const MAX_ARGUMENTS = 200;
const MAX_NAME_CHARS = 256;

/** The names of a tool's arguments in the order of its schema, after those that are paths and URLs. */
function argumentOrder({ inputSchema, paths = [], urls = [] }: Tool<never, never>): readonly string[] {
  const places = [...paths, ...urls].map(({ argument }) => argument.split("/")[1] ?? "");
  const { properties } = inputSchema;
  const names = [...places, ...(isJsonObject(properties) ? Object.keys(properties) : [])];
  const short = names.filter((name) => name !== "" && name.length <= MAX_NAME_CHARS);
  return [...new Set(short)].slice(0, MAX_ARGUMENTS);
}

/** The same for the caller of its session: without the policy's rules, and of a nested call not what it is about. */
export function callerWholeInquiryView({ inquiry, resolution }: InquiryRecord): object {
  const isNested = inquiry.parent !== undefined;
  const { arguments: edited, approval, answer, reason, ...outcome } = resolution ?? {};
  const own = {
    ...(edited !== undefined && { arguments: edited }),
    ...(approval && { approval }),
    ...(reason !== undefined && { reason }),
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
