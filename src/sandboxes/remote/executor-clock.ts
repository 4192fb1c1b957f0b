import { MAX_WALL_TIME_MS } from "../../policy/grant/limits.ts";

/** What has a deadline. */
export interface TimedCall {
  /** As `performance.now` tells it. */
  readonly dueAt: number;
  /** Its time is over. */
  expire(): void;
}

/** Watches over the deadlines of all calls with one timer: one for each would cost as much as a tenth of a call. */
export class ExecutorClock<Call extends TimedCall> {
  readonly #calls = new Set<Call>();
  #timer: NodeJS.Timeout | undefined;
  /** When the timer looks next. */
  #looksAt: number = Number.POSITIVE_INFINITY;

  /** The calls whose time is not over. */
  get calls(): readonly Call[] {
    return [...this.#calls];
  }

  add(call: Call, now: number): void {
    this.#calls.add(call);
    this.#lookAt(call.dueAt, now);
    // As long as there are calls, the process lives.
    if (this.#calls.size === 1) this.#timer?.ref();
  }

  delete(call: Call): void {
    this.#calls.delete(call);
    if (this.#calls.size === 0) this.#timer?.unref();
  }

  /** Sets the timer, unless it looks sooner anyway. */
  #lookAt(at: number, now: number): void {
    if (this.#looksAt <= at) return;
    clearTimeout(this.#timer);
    this.#looksAt = at;
    this.#timer = setTimeout(this.#look, Math.min(Math.ceil(at - now), MAX_WALL_TIME_MS));
  }

  readonly #look = (): void => {
    this.#looksAt = Number.POSITIVE_INFINITY;
    const now = performance.now();
    let next = Number.POSITIVE_INFINITY;
    for (const call of this.#calls) {
      if (call.dueAt <= now) call.expire();
      else next = Math.min(next, call.dueAt);
    }
    if (this.#calls.size > 0) this.#lookAt(next, now);
  };
}
