/** Restarts within {@link WINDOW_MS}. */
const MAX_RESTARTS = 5;
const WINDOW_MS = 10 * 60_000;
const FIRST_PAUSE_MS = 250;

/** Says when a server that ended may be started again: after a pause that doubles, and at most five times in ten minutes. */
export class Restarts {
  #times: number[] = [];

  /** Counts a restart, and returns the milliseconds to wait before it; `undefined` if there were too many. */
  next(now: number = performance.now()): number | undefined {
    this.#times = this.#times.filter((time) => now - time < WINDOW_MS);
    if (this.#times.length >= MAX_RESTARTS) return undefined;
    this.#times.push(now);
    return FIRST_PAUSE_MS * 2 ** (this.#times.length - 1);
  }
}
