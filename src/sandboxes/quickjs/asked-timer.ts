import { PausableTimer } from "../../base/timers/pausable-timer.ts";

/** A timer that counts only while a person is asked. */
export class AskedTimer {
  readonly #timer = new PausableTimer();
  #resume: () => void;
  #asked = 0;

  constructor() {
    this.#resume = this.#timer.pause();
  }

  /** Starts to count, or waits until a person is asked. */
  start(ms: number, onExpire: () => void): void {
    this.#timer.start(ms, onExpire);
  }

  /** Stops, and returns the milliseconds that were counted since the start. */
  stop(): number {
    return this.#timer.stop();
  }

  /** Says that a person is asked. Returns a function that says that it is over; a second call does nothing. */
  ask(): () => void {
    if (this.#asked++ === 0) this.#resume();
    let hasEnded = false;
    return () => {
      if (hasEnded) return;
      hasEnded = true;
      if (--this.#asked === 0) this.#resume = this.#timer.pause();
    };
  }
}
