import { isJsonObject } from "../../json/value.ts";
import type { JournalEntry } from "../line/entry.ts";

/** How a call ended, as people read it: one that was not allowed to run is denied, and did not fail. */
export type CallOutcome = "completed" | "denied" | "failed" | "aborted";

/** Every {@link CallOutcome}. */
export const CALL_OUTCOMES: readonly CallOutcome[] = ["completed", "denied", "failed", "aborted"];

/** The codes of calls that were not allowed to run. */
const DENIED: readonly unknown[] = ["permission_denied", "user_denied", "confirmation_timeout"];
/** The codes of calls that somebody stopped. */
const ABORTED: readonly unknown[] = ["cancelled", "aborted"];

/** Returns how a call ended. @param last The record of its end, or of a call that did not run. */
export function outcomeIn({ type, code, suspended }: JournalEntry): CallOutcome | undefined {
  if (suspended === true || (type !== "tool.call.ended" && type !== "tool.call.denied")) return undefined;
  if (code === undefined) return "completed";
  if (type === "tool.call.denied" && DENIED.includes(code)) return "denied";
  return ABORTED.includes(code) ? "aborted" : "failed";
}

/** Returns the limit that a call reached; `undefined` if it reached none. @param end The record of its end. */
export function limitIn({ code, limit }: JournalEntry): string | undefined {
  if (code === "timeout") return "wallTimeMs";
  return code === "limit_exceeded" && typeof limit === "string" ? limit : undefined;
}

/** Returns the names of the rules of a record, each once. */
export function rulesIn({ rules }: JournalEntry): readonly string[] {
  return Array.isArray(rules) ? [...new Set(rules.filter((rule) => typeof rule === "string"))] : [];
}

/** Returns the sandbox that a call was granted; `undefined` if its record has none. */
export function sandboxIn({ grant }: JournalEntry): string | undefined {
  const { sandbox } = isJsonObject(grant) ? grant : {};
  return typeof sandbox === "string" ? sandbox : undefined;
}

/** What a person answered about a call. */
interface AnswerMembers {
  readonly by: string;
  readonly isAllowed: boolean;
  /** Milliseconds from the question to the answer. */
  readonly afterMs: number | undefined;
}

/** An answer within this time was given before anybody can have read the question. */
const QUICK_MS = 2_000;

/** Returns what a person answered about a call; `undefined` if nobody did. */
export function answerIn({ answer }: JournalEntry): AnswerMembers | undefined {
  if (!isJsonObject(answer)) return undefined;
  const { by, decision, afterMs } = answer;
  if (typeof by !== "string") return undefined;
  return { by, isAllowed: decision === "allow", afterMs: typeof afterMs === "number" ? afterMs : undefined };
}

/** Whether a call was allowed before anybody can have read it. */
export function isQuick({ isAllowed, afterMs = QUICK_MS }: AnswerMembers): boolean {
  return isAllowed && afterMs < QUICK_MS;
}

/** Returns the id of the principal of a recorded call. */
export function principalIn({ principal }: JournalEntry): string | undefined {
  const { id } = isJsonObject(principal) ? principal : {};
  return typeof id === "string" ? id : undefined;
}
