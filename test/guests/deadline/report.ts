/** The deadline of each call of the corpus. */
export const WALL_TIME_MS = 300;

/** How much later it may be answered in all. A busy machine takes a while to start a thread for it. */
export const MAX_SETTLED_LATE_MS = 3_000;

/** What became of the calls of a component. */
export interface CaseReport {
  /** How they ended. */
  readonly codes: readonly string[];
  /** How long after its deadline the last of its work ended. */
  readonly lateMs: number;
  /** How long after its deadline a call was answered, if it had begun immediately. */
  readonly settledLateMs: number;
  /** Whether a receipt says `mayStillRun`. */
  readonly mayStillRun: boolean;
  /** Whether calls of another component between them succeeded. */
  readonly echoes: boolean;
  /** How many threads could not be ended. */
  readonly abandoned: number;
}
