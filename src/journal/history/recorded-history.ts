import type { JournalEntry } from "../line/entry.ts";
import type { CallOutcome } from "../read/record-members.ts";

/** A call as a journal has it. */
export interface HistoryCall {
  /** The record of the call that was about to run, or did not run: its type is `tool.call.dispatched` or `tool.call.denied`. */
  readonly begin: JournalEntry;
  /** Absent if the call did not run, still runs, or ended far behind its begin. */
  readonly end?: JournalEntry;
  /** Set if the end was not looked for everywhere, since it can be far behind the begin. */
  readonly isEndUnknown?: true;
}

/** Which calls are listed. */
export interface HistoryQuery {
  /** Only calls whose record has a lower number. Default: all. */
  readonly before?: number | undefined;
  /** The most calls. */
  readonly limit: number;
  /** Only calls of this tool, this session, or that ended with this code. Default: all. */
  readonly tool?: string | undefined;
  readonly session?: string | undefined;
  readonly code?: string | undefined;
  /** Only calls that ended so. Default: all, also those that have not ended. */
  readonly outcome?: CallOutcome | undefined;
  /** Only calls whose decision this rule led to, or that were granted this sandbox. Default: all. */
  readonly rule?: string | undefined;
  readonly sandbox?: string | undefined;
  /** Only calls that reached this limit, such as `wallTimeMs`. Default: all. */
  readonly reached?: string | undefined;
  /** Whether a rule led to the decision. Default: all. */
  readonly isRuled?: boolean | undefined;
  /** Only calls about which a person was asked, and answered so. Default: all. */
  readonly answer?: AnswerFilter | undefined;
  /** Only calls that this person allowed or denied. Default: all. */
  readonly answeredBy?: string | undefined;
  /** Only calls from this time on, and before that one, in milliseconds since the epoch. Default: all. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  /** Only calls of principals for which it returns true; `undefined` stands for calls without a principal. */
  readonly isVisible: (principal: string | undefined) => boolean;
  /** How names are shown. A name is wanted also if it is shown as the query has it. Default: as they are. */
  readonly shown?: ((name: string) => string) | undefined;
  /** Ends the reading with its reason. */
  readonly signal?: AbortSignal;
}

/** Calls, the latest first. */
export interface HistoryPage {
  readonly calls: readonly HistoryCall[];
  /** The `before` of the next page, also if this one is empty: a page ends when enough of the journal was read. */
  readonly next?: number;
}

/** Calls about which a person was asked: all of them, those allowed, those denied, and those allowed within 2 s. */
export type AnswerFilter = "any" | "allow" | "deny" | "quick";
