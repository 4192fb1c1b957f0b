/**
 * A condition on earlier calls, with exactly one of `count`, `sum` and `after`. It is unclear without a session, and when
 * the session does not know all calls of the window: see `RulePolicy` for what a rule does then.
 */
export type HistoryCondition = CountCondition | SumCondition | AfterCondition;

/** How far a condition looks back: `within` a time, or `in` the turn or the session. Exactly one of them must be set. */
export interface HistoryWindow {
  /** A duration such as `15m`, `24h`, or a number of milliseconds. */
  readonly within?: string | number;
  readonly in?: "turn" | "session";
  /**
   * Whose calls: those of the session, or those of all sessions of its principal. The latter requires `within`, and is
   * unclear if the session has no principal. Default: `"session"`.
   */
  readonly by?: "session" | "principal";
}

/** Counts earlier calls. Exactly one of the bounds must be set. */
export interface CountCondition extends HistoryWindow {
  /** Patterns of the tools whose calls count, like those of `tools`. */
  readonly count: readonly string[];
  /** There were fewer calls than this, without the call that is decided on: at most so many calls get through. */
  readonly lessThan?: number;
  /** There were at least so many calls, without the call that is decided on. */
  readonly atLeast?: number;
}

/**
 * Adds the amounts of earlier calls, and that of the call itself if it is one of these tools. Exactly one of the bounds
 * must be set, with at most 12 decimals. It is unclear if an amount is not a number from 0 to 2^53 - 1.
 */
export interface SumCondition extends HistoryWindow {
  /** The JSON pointer (RFC 6901) to the amount in the arguments. It has at most 100 characters. */
  readonly sum: `/${string}`;
  /** Patterns of the tools whose calls have the amount. */
  readonly of: readonly string[];
  readonly atMost?: number;
  readonly moreThan?: number;
}

/** Requires an earlier call that succeeded. */
export interface AfterCondition extends HistoryWindow {
  /** Patterns of the tools, one of which was called. */
  readonly after: readonly string[];
  /** A person must have confirmed that call itself: a remembered approval does not count. Default: no confirmation is required. */
  readonly approved?: true;
}
