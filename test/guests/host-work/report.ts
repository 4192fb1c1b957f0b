/** The deadline of a guest that does its work again and again. */
export const WALL_TIME_MS = 400;

/** A guest to make: the same numbers make the same guest. */
export interface HostWorkRequest {
  readonly operation: string;
  /** The index of a known guest, or the seed of a random one. */
  readonly guest: `known ${number}` | `seed ${number}`;
}

/** What became of a guest. */
export interface HostWorkReport {
  /** The guest, to repeat it. */
  readonly source: string;
  /** Whether it came to the end of its work once: otherwise it would show nothing. */
  readonly hasWorked: boolean;
  /** How its second call, which works until its deadline, ended. */
  readonly code: string;
  /** How long after its deadline its work ended. */
  readonly lateMs: number;
  readonly mayStillRun: boolean;
  /** How many threads could not be ended. */
  readonly abandoned: number;
  /** Whether a harmless call succeeded afterwards. */
  readonly echoes: boolean;
}
