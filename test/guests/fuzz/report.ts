/** The deadline of each random component. */
export const WALL_TIME_MS = 60;

/** What became of the call of a random component. */
export interface FuzzReport {
  readonly status: string;
  readonly lateMs: number;
  readonly mayStillRun: boolean;
}
