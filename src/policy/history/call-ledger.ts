/**
 * The earlier calls of a turn, of its session and of its principal, for conditions that count them. Calls that are under
 * way are counted too. The call that is decided on is not, also not when the policy is consulted once more after a
 * person's answer.
 */
export interface CallLedger {
  tally(query: LedgerQuery): LedgerTally;
}

/** Which calls to count. */
export interface LedgerQuery {
  /** Queries with equal keys count the same calls. A ledger keeps its results by it. */
  readonly key: string;
  readonly scope: "turn" | "session" | "principal";
  /** Milliseconds since the end of a call for which it counts. `Infinity` for all calls of the scope. */
  readonly withinMs: number;
  /** Whether calls of a tool count. */
  matchesTool(name: string): boolean;
  /** `done`: only calls that succeeded. `approved`: only those of them that a person confirmed. Default: all. */
  readonly only?: "done" | "approved" | undefined;
  /** The pointer (RFC 6901) to the argument whose values are added. Default: nothing is added. */
  readonly amount?: string | undefined;
}

/** The result of a {@link LedgerQuery}. There are never fewer calls than it says. */
export interface LedgerTally {
  readonly count: number;
  /** The sum of the amounts that are known, as `amountOf` returns them. */
  readonly sum: bigint;
  /** Whether all calls of the window, and all their amounts, are known. */
  readonly isComplete: boolean;
}

/** The longest pointer to an amount, in characters: a ledger keeps no others. */
export const MAX_AMOUNT_POINTER = 100;
