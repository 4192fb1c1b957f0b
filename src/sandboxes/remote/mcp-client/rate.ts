/** Restarts within {@link WINDOW_MS}. */
const MAX_RESTARTS = 5;

const WINDOW_MS = 10 * 60_000;

const FIRST_PAUSE_MS = 250;

/**
 * Decides when a server that ended may be restarted: after a pause that doubles, and at most five times in
 * ten minutes.
 */
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

/** Limits how often something happens in a second. */
export class Rate {
  readonly #perSecond: number;
  #second = 0;
  #count = 0;

  constructor(perSecond: number) {
    this.#perSecond = perSecond;
  }

  /** Whether the limit of this second is reached. */
  get isExceeded(): boolean {
    this.#advance();
    return this.#count >= this.#perSecond;
  }

  /** Counts an occurrence, and returns whether it is allowed. */
  take(): boolean {
    this.#advance();
    return this.#count++ < this.#perSecond;
  }

  /**
   * Whether the last occurrence was the first one in this second that was not allowed. Call it after {@link
   * take} has returned `false`.
   */
  get isFirstExcess(): boolean {
    return this.#count === this.#perSecond + 1;
  }

  #advance(): void {
    const second = Math.floor(performance.now() / 1_000);
    if (second === this.#second) return;
    this.#second = second;
    this.#count = 0;
  }
}
