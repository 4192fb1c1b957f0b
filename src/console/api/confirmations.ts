import { get, send } from "./http.ts";

/** A confirmation as it is listed. */
export interface Confirmation {
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

/** How a confirmation ended. */
export interface Resolution {
  readonly decision: string;
  readonly by?: string;
  /** In milliseconds since the epoch. */
  readonly at: number;
}

/** A whole confirmation. `arguments` and `wholeQuestion` are foreign text as it is, not escaped. */
export interface WholeConfirmation extends Confirmation {
  readonly arguments?: string;
  readonly wholeQuestion?: string;
  readonly rules?: readonly string[];
  /** The names of the arguments in the order of the tool's schema, the paths and URLs first. */
  readonly argumentOrder?: readonly string[];
  /** The file that the call would write, as it is now; `null` if it does not exist. Foreign text as it is, not escaped. */
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

function pathOf({ sessionId, turnId, requestId }: Confirmation): string {
  const [session, turn, request] = [sessionId, turnId, requestId].map(encodeURIComponent);
  return `/v1/sessions/${session}/turns/${turn}/confirmations/${request}`;
}

/** Lists the open confirmations, the oldest first. */
export async function listConfirmations(): Promise<readonly Confirmation[]> {
  return (await get<{ readonly confirmations: readonly Confirmation[] }>("/v1/confirmations")).confirmations;
}

/** Reads a whole confirmation. */
export function readConfirmation(confirmation: Confirmation): Promise<WholeConfirmation> {
  return get(pathOf(confirmation));
}

/** What a link of a notification answers, and in whose name. */
export interface LinkedConfirmation extends WholeConfirmation {
  readonly approver: string;
}

const LINK_PATH = "/v1/console/answer-link";

/** Reads what a link answers. */
export function readLink(token: string): Promise<LinkedConfirmation> {
  return send("POST", LINK_PATH, { token });
}

/** Answers with a link, once. */
export function answerLink(token: string, { decision, reason }: Omit<Answer, "digest">): Promise<Resolution> {
  return send("POST", LINK_PATH, { token, decision, reason });
}

/** Answers a confirmation. The first answer wins: a later one is an `ApiError` with the code `already_answered`. */
export function answerConfirmation(confirmation: Confirmation, answer: Answer): Promise<Resolution> {
  return send("POST", pathOf(confirmation), answer);
}
