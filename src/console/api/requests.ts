import type { CallDetails, CallSummary, Phase } from "../../shapes/calls.ts";
import type {
  Answer,
  LinkAnswer,
  OpenConfirmation,
  Resolved,
  WholeConfirmation,
} from "../../shapes/confirmations.ts";
import type { OverviewNumbers } from "../../shapes/journal.ts";
import type { SessionList, ShownSession } from "../../shapes/sessions.ts";
import { ApiError, get, send } from "./http.ts";

/** The parts of a call's time, in the order in which they begin. */
export const PHASES: readonly Phase["name"][] = [
  "gate",
  "parse",
  "decide",
  "wait",
  "hook",
  "record",
  "sandbox",
  "end",
];

/** Reads a whole call. */
export async function readCall(ref: string): Promise<CallDetails> {
  try {
    return await get("GET /v1/calls/:ref", { params: { ref } });
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 404) throw error;
    const message = "The server no longer has this call. History has it if calls are recorded.";
    throw new ApiError(error.status, error.code, message);
  }
}

/** The codes of calls that were not allowed to run. */
const DENIED: readonly string[] = ["permission_denied", "user_denied", "confirmation_timeout"];

/** The state of a call as people read it: one that was not allowed to run is denied, and did not fail. */
export function shownState({ state, code = "" }: CallSummary): string {
  return state === "failed" && DENIED.includes(code) ? "denied" : state;
}

/** Lists the open confirmations, the oldest first. */
export async function listConfirmations(): Promise<readonly OpenConfirmation[]> {
  return (await get("GET /v1/confirmations")).confirmations;
}

/** Reads a whole confirmation. */
export async function readConfirmation({
  sessionId: id,
  turnId,
  requestId,
}: OpenConfirmation): Promise<WholeConfirmation> {
  const view = await get("GET /v1/sessions/:id/turns/:turnId/confirmations/:requestId", {
    params: { id, turnId, requestId },
  });
  // Only the caller of a session is shown less.
  return view as WholeConfirmation;
}

/** What a link of a notification answers, and in whose name. */
export interface LinkedConfirmation extends WholeConfirmation {
  readonly approver: string;
}

/** Reads what a link answers. */
export async function readLink(token: string): Promise<LinkedConfirmation> {
  return (await send("POST /v1/console/answer-link", { body: { token } })) as LinkedConfirmation;
}

/** Answers with a link, once. */
export async function answerLink(
  token: string,
  { decision, reason }: Omit<Answer, "digest">,
): Promise<Resolved> {
  // The page of a link offers no other decision.
  const body = { token, decision, reason } as LinkAnswer;
  return (await send("POST /v1/console/answer-link", { body })) as Resolved;
}

/** Answers a confirmation. The first answer wins: a later one is an `ApiError` with the code `already_answered`. */
export function answerConfirmation(
  { sessionId: id, turnId, requestId }: OpenConfirmation,
  answer: Answer,
): Promise<Resolved> {
  return send("POST /v1/sessions/:id/turns/:turnId/confirmations/:requestId", {
    params: { id, turnId, requestId },
    body: answer,
  });
}

/** The ranges of time that end now, and what people call them. */
export const RANGES = { hour: "Last hour", day: "24 hours", week: "7 days", month: "30 days" } as const;

/** The name of a range of time. */
export type Range = keyof typeof RANGES;

/** Reads the numbers of a range of time. */
export function readOverview(range: Range): Promise<OverviewNumbers> {
  return get("GET /v1/overview", { query: { range } });
}

/** Reads all sessions, page after page, the latest first. */
export async function readSessions(): Promise<readonly ShownSession[]> {
  const sessions: ShownSession[] = [];
  let before: number | undefined;
  do {
    const page: SessionList = await get("GET /v1/sessions", { query: { before, limit: 1_000 } });
    sessions.push(...page.sessions);
    before = page.next;
  } while (before !== undefined);
  return sessions;
}
