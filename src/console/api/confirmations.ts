import { get, send } from "./http.ts";

/** An inquiry as it is listed. */
export interface Inquiry {
  readonly requestId: string;
  readonly kind: "call" | "question" | "plan";
  readonly sessionId: string;
  readonly sessionName?: string;
  readonly turnId: string;
  readonly callId: string;
  readonly principal?: string;
  readonly parent?: string;
  readonly toolName: string;
  readonly sideEffects: string;
  /** Escaped and redacted. */
  readonly inputSummary?: string;
  readonly missing: string;
  readonly projectedChanges?: readonly string[];
  readonly question: string;
  readonly options?: readonly string[];
  readonly multiple?: boolean;
  readonly digest: string;
  readonly grant?: unknown;
  readonly choices: readonly string[];
  /** In milliseconds since the epoch. */
  readonly askedAt: number;
  /** In milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** How an inquiry ended. */
export interface Resolution {
  readonly decision: string;
  readonly by?: string;
  /** In milliseconds since the epoch. */
  readonly at: number;
}

/** A whole inquiry. `arguments` and `wholeQuestion` are foreign text as it is, not escaped. */
export interface WholeInquiry extends Inquiry {
  readonly arguments?: string;
  readonly wholeQuestion?: string;
  readonly rules?: readonly string[];
  /** The names of the arguments in the order of the tool's schema, the paths and URLs first. */
  readonly argumentOrder?: readonly string[];
  /** The file that the call would write, as it is now; `null` if there is none. Foreign text as it is, not escaped. */
  readonly currentText?: string | null;
  readonly resolution?: Resolution;
}

/** For which calls an answer is remembered. */
export interface ApprovalScope {
  readonly tools: readonly string[];
  readonly for: "session" | number;
  readonly calls?: number;
}

/** What a person answers. */
export interface Answer {
  readonly decision: "allow" | "deny" | "always" | "answer";
  readonly digest: string;
  readonly arguments?: unknown;
  readonly answer?: string | readonly string[];
  readonly approval?: ApprovalScope;
  /** Why the call is denied, which the model reads. */
  readonly reason?: string;
}

function pathOf({ sessionId, turnId, requestId }: Inquiry): string {
  const [session, turn, request] = [sessionId, turnId, requestId].map(encodeURIComponent);
  return `/v1/sessions/${session}/turns/${turn}/confirmations/${request}`;
}

/** Lists the open inquiries, the oldest first. */
export async function listInquiries(): Promise<readonly Inquiry[]> {
  return (await get<{ readonly confirmations: readonly Inquiry[] }>("/v1/confirmations")).confirmations;
}

/** Reads a whole inquiry. */
export function readInquiry(inquiry: Inquiry): Promise<WholeInquiry> {
  return get(pathOf(inquiry));
}

/** What a link of a notification answers, and in whose name. */
export interface LinkedInquiry extends WholeInquiry {
  readonly approver: string;
}

const LINK_PATH = "/v1/console/answer-link";

/** Reads what a link answers. */
export function readLink(token: string): Promise<LinkedInquiry> {
  return send("POST", LINK_PATH, { token });
}

/** Answers with a link, once. */
export function answerLink(token: string, { decision, reason }: Omit<Answer, "digest">): Promise<Resolution> {
  return send("POST", LINK_PATH, { token, decision, reason });
}

/** Answers an inquiry. The first answer wins: a later one is an `ApiError` with the code `already_answered`. */
export function answerInquiry(inquiry: Inquiry, answer: Answer): Promise<Resolution> {
  return send("POST", pathOf(inquiry), answer);
}
