/** The deadline of each random component. */
export const WALL_TIME_MS = 60;

/** How much later than its deadline a call may end. */
export const MAX_LATE_MS = 250;

/** What became of the call of a random component. */
export interface FuzzReport {
  readonly status: string;
  readonly lateMs: number;
  readonly mayStillRun: boolean;
}
