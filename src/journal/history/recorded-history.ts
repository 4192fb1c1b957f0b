import type { JournalEntry } from "../line/entry.ts";

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
  /** Only calls of principals for which it returns true; `undefined` stands for calls without a principal. */
  readonly isVisible: (principal: string | undefined) => boolean;
  /** Ends the reading with its reason. */
  readonly signal?: AbortSignal;
}

/** Calls, the latest first. */
export interface HistoryPage {
  readonly calls: readonly HistoryCall[];
  /** The `before` of the next page, also if this one is empty: a page ends when enough of the journal was read. */
  readonly next?: number;
}

/** Returns the id of the principal of a recorded call. */
export function principalIn({ principal }: JournalEntry): string | undefined {
  if (typeof principal !== "object" || principal === null || Array.isArray(principal)) return undefined;
  const { id } = principal as { readonly id?: unknown };
  return typeof id === "string" ? id : undefined;
}
