import type { ProcessStamp } from "../../../remote-protocol/process-stamp.ts";

/** How many earlier processes are remembered, to recognise them. */
const MAX_EARLIER = 16;
/** How long calls are not addressed to one process after several processes took turns, in ms. */
const MIXED_MS = 60_000;

/** The process behind an executor's address, as its answers name it. Behind a load balancer there may be several. */
export class AnsweringProcess {
  #last: ProcessStamp | undefined;
  readonly #earlier = new Set<string>();
  #mixedUntil = Number.NEGATIVE_INFINITY;

  /** The process that answered last, and its time then; `undefined` if none has named itself. */
  get last(): ProcessStamp | undefined {
    return this.#last;
  }

  /**
   * The process to address a call to, so that no other one runs it; `undefined` if it is not known, or if several take
   * turns.
   *
   * @param now On the clock of `performance.now()`.
   */
  only(now: number): ProcessStamp | undefined {
    return now < this.#mixedUntil ? undefined : this.#last;
  }

  /** Takes in what an answer says. */
  learn(stamp: ProcessStamp, now: number): void {
    const last = this.#last;
    if (last?.id === stamp.id) {
      if (stamp.time > last.time) this.#last = stamp;
      return;
    }
    this.#last = stamp;
    if (last === undefined) return;
    // A process that was replaced does not come back.
    if (this.#earlier.has(stamp.id)) this.#mixedUntil = now + MIXED_MS;
    this.#earlier.add(last.id);
    const [oldest] = this.#earlier;
    if (this.#earlier.size > MAX_EARLIER && oldest !== undefined) this.#earlier.delete(oldest);
  }
}
