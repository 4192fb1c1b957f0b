/** Sources of time, for tests. */
export interface SteadyClockOptions {
  /** Returns milliseconds since the epoch. Default: `Date.now`. */
  readonly wall?: () => number;
  /** Returns milliseconds that always go forward. Default: `performance.now`. */
  readonly monotonic?: () => number;
}

/**
 * A wall clock that goes at least as fast as the monotonic clock. If the clock of the machine is set forward, this one
 * follows; if it is set back, this one continues: what expires at a time never expires later than it was meant to.
 */
export class SteadyClock {
  readonly #wall: () => number;
  readonly #monotonic: () => number;
  #time: number;
  #readAt: number;

  constructor({ wall = Date.now, monotonic = () => performance.now() }: SteadyClockOptions = {}) {
    this.#wall = wall;
    this.#monotonic = monotonic;
    this.#time = wall();
    this.#readAt = monotonic();
  }

  /** Returns whole milliseconds since the epoch. */
  now(): number {
    const read = this.#monotonic();
    this.#time = Math.max(this.#wall(), this.#time + (read - this.#readAt));
    this.#readAt = read;
    return Math.floor(this.#time);
  }

  /** Sets the clock forward to a time that has certainly passed, such as one in a record. */
  atLeast(time: number): void {
    if (this.now() < time) this.#time = time;
  }
}
