/** The longest delay of a Node.js timer, in ms (2^31 - 1); a longer one would fire at once. */
export const MAX_DELAY_MS: number = 2 ** 31 - 1;

/** What ends a {@link race} besides the work itself. */
export interface RaceLimits {
  /** Milliseconds until the race ends with `"timeout"`; at most 2^31 - 1 are waited. Default: no timeout. */
  readonly timeoutMs?: number;
  /** Any of them ends the race with `"aborted"`; one that is aborted already ends it at once. */
  readonly signals?: readonly (AbortSignal | undefined)[];
}

/**
 * Waits for work until a timeout or an abort, whichever comes first. The work itself continues, since other callers may
 * share it; a result or an error that comes too late is ignored.
 *
 * @returns the work's value, `"timeout"` or `"aborted"`; rejects if the work does.
 */
export function race<T>(
  work: Promise<T>,
  limits: RaceLimits & { readonly timeoutMs?: undefined },
): Promise<T | "aborted">;

export function race<T>(work: Promise<T>, limits: RaceLimits): Promise<T | "timeout" | "aborted">;

export function race<T>(
  work: Promise<T>,
  { timeoutMs, signals = [] }: RaceLimits,
): Promise<T | "timeout" | "aborted"> {
  // Not an async function: while a call waits for a person, its state would take more memory than the question.
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    const stop = (): void => {
      clearTimeout(timer);
      for (const signal of signals) signal?.removeEventListener("abort", onAbort);
    };
    const onAbort = (): void => {
      stop();
      resolve("aborted");
    };
    work.then(
      (value) => {
        stop();
        resolve(value);
      },
      (error: unknown) => {
        stop();
        reject(error);
      },
    );
    if (signals.some((signal) => signal?.aborted)) {
      resolve("aborted");
      return;
    }
    for (const signal of signals) signal?.addEventListener("abort", onAbort, { once: true });
    if (timeoutMs === undefined) return;
    timer = setTimeout(
      () => {
        stop();
        resolve("timeout");
      },
      Math.min(timeoutMs, MAX_DELAY_MS),
    );
  });
}

/** A timer that any number of callers can pause at once: it counts only while none of them does. */
export class PausableTimer {
  #pauses = 0;
  #elapsedMs = 0;
  #leftMs = 0;
  #onExpire: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  #countsFrom = 0;

  /** Starts to count, or waits until the last pause ends. */
  start(ms: number, onExpire: () => void): void {
    this.stop();
    this.#elapsedMs = 0;
    this.#leftMs = Math.max(ms, 0);
    this.#onExpire = onExpire;
    if (this.#pauses === 0) this.#count();
  }

  /** Stops, and returns the milliseconds that were counted since the start. */
  stop(): number {
    this.#suspend();
    this.#onExpire = undefined;
    return this.#elapsedMs;
  }

  /**
   * Begins a pause, even before the start. Returns a function that ends it; calling it again does nothing.
   */
  pause(): () => void {
    if (this.#pauses++ === 0) this.#suspend();
    let hasEnded = false;
    return () => {
      if (hasEnded) return;
      hasEnded = true;
      if (--this.#pauses === 0 && this.#onExpire !== undefined) this.#count();
    };
  }

  #count(): void {
    this.#countsFrom = performance.now();
    this.#timer = setTimeout(() => this.#onExpire?.(), Math.min(this.#leftMs, MAX_DELAY_MS));
  }

  #suspend(): void {
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const countedMs = performance.now() - this.#countsFrom;
    this.#elapsedMs += countedMs;
    this.#leftMs = Math.max(this.#leftMs - countedMs, 0);
  }
}

/** Options of {@link DeadlineTimer}. */
interface DeadlineTimerOptions<Item> {
  /**
   * Returns when an item is due, on the clock of `performance.now()`, in ms. It is called again each time the timer
   * fires, so a deadline may move to a later time; one that moves to an earlier time is noticed late.
   */
  readonly deadlineOf: (item: Item) => number;
  /** Called when an item is due. It must delete the item or move its deadline. */
  readonly expire: (item: Item) => void;
  /** Whether the process stays alive as long as there are items. Default: false. */
  readonly keepsAlive?: boolean;
}

/**
 * Watches any number of deadlines with one timer: a timer for each would cost a tenth of a small call. The timer is set
 * to the earliest deadline. Deleting an item does not reset it, so it may fire when nothing is due. Adding and deleting
 * take constant time.
 */
export class DeadlineTimer<Item> {
  readonly #items = new Set<Item>();
  readonly #deadlineOf: (item: Item) => number;
  readonly #expire: (item: Item) => void;
  readonly #keepsAlive: boolean;
  #timer: NodeJS.Timeout | undefined;
  /** When the timer fires; `undefined` if it is not set. */
  #firesAt: number | undefined;

  constructor({ deadlineOf, expire, keepsAlive = false }: DeadlineTimerOptions<Item>) {
    this.#deadlineOf = deadlineOf;
    this.#expire = expire;
    this.#keepsAlive = keepsAlive;
  }

  /** The items that were added and not deleted. */
  get items(): readonly Item[] {
    return [...this.#items];
  }

  add(item: Item): void {
    this.#items.add(item);
    const deadline = this.#deadlineOf(item);
    if (this.#firesAt === undefined || deadline < this.#firesAt) this.#schedule(deadline);
    else if (this.#keepsAlive && this.#items.size === 1) this.#timer?.ref();
  }

  delete(item: Item): void {
    this.#items.delete(item);
    if (this.#keepsAlive && this.#items.size === 0) this.#timer?.unref();
  }

  /** Deletes all items and clears the timer. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#firesAt = undefined;
    this.#items.clear();
  }

  #schedule(time: number): void {
    clearTimeout(this.#timer);
    const now = performance.now();
    const delay = Math.min(Math.max(Math.ceil(time - now), 1), MAX_DELAY_MS);
    this.#firesAt = Math.min(time, now + delay);
    this.#timer = setTimeout(this.#fire, delay);
    if (!this.#keepsAlive) this.#timer.unref();
  }

  readonly #fire = (): void => {
    this.#firesAt = undefined;
    const now = performance.now();
    let next = Number.POSITIVE_INFINITY;
    for (const item of this.#items) {
      let deadline = this.#deadlineOf(item);
      if (deadline <= now) {
        this.#expire(item);
        if (!this.#items.has(item)) continue;
        deadline = this.#deadlineOf(item);
      }
      next = Math.min(next, deadline);
    }
    if (this.#items.size > 0 && (this.#firesAt === undefined || next < this.#firesAt)) this.#schedule(next);
  };
}
