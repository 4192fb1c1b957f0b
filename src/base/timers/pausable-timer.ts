import { MAX_DELAY_MS } from "./deadline-timer.ts";

/** A timer that can be paused any number of times at once: it counts only while no pause lasts. */
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
    this.#hold();
    this.#onExpire = undefined;
    return this.#elapsedMs;
  }

  /** Begins a pause, which may be before the start. Returns a function that ends it; a second call does nothing. */
  pause(): () => void {
    if (this.#pauses++ === 0) this.#hold();
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

  #hold(): void {
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const countedMs = performance.now() - this.#countsFrom;
    this.#elapsedMs += countedMs;
    this.#leftMs = Math.max(this.#leftMs - countedMs, 0);
  }
}
