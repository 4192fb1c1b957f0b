import type { MaybePromise } from "../../base/promises.ts";

/** A call, as a store keeps it for conditions on earlier calls. */
export interface LedgerRecord {
  /** Unique among all calls. */
  readonly id: string;
  readonly sessionId: string;
  readonly turnId: string;
  /** The id of the principal; absent if the session has none. */
  readonly principal?: string;
  readonly tool: string;
  /** Arguments that are numbers, by their pointers (RFC 6901). */
  readonly numbers: readonly (readonly [pointer: string, value: number])[];
  /** Whether a person confirmed the call. */
  readonly isApproved: boolean;
  /** Whether it ended with success. */
  readonly isDone: boolean;
  /** In milliseconds since the epoch; absent until it has ended. */
  readonly endedAt?: number;
}

/** What a store has of earlier calls. */
export interface LedgerState {
  /** In the order of their ends; those that have not ended come last. */
  readonly entries: readonly LedgerRecord[];
  /** The time up to which calls may be missing: 0 if none is, `undefined` if calls may be missing up to now. */
  readonly missingUntil: number | undefined;
}

/**
 * Keeps the calls of sessions and principals for conditions on them, beyond the end of a session. In a new store, no call
 * is missing.
 */
export interface LedgerTable {
  /** Adds a call that is about to run, or replaces the one with its id. */
  putEntry(entry: LedgerRecord): MaybePromise<void>;
  /** Removes a call that did not take effect. */
  removeEntry(id: string): MaybePromise<void>;
  /** Removes a call that is forgotten: from then on, calls are missing at least up to its end. */
  dropEntry(id: string, endedAt: number): MaybePromise<void>;
  /** Removes all calls. Calls are missing up to a time, or as long as it is `undefined`. */
  resetLedger(missingUntil: number | undefined): MaybePromise<void>;
  ledgerState(): MaybePromise<LedgerState>;
}

/** Orders calls by their ends; those that run are last. */
export function compareEnds(one: LedgerRecord, other: LedgerRecord): number {
  return endOf(one) - endOf(other);
}

function endOf({ endedAt = Number.MAX_SAFE_INTEGER }: LedgerRecord): number {
  return endedAt;
}
