/** The longest that a timer can be set to, in ms. */
const MAX_DELAY_MS = 2 ** 31 - 1;

/** Something that has to be over at a time. */
export interface Timed {
  /** As `performance.now` tells it, in ms. */
  readonly deadline: number;
  /** Its time is up. Called once. */
  expire(): void;
}

/**
 * Watches any number of deadlines with one timer: a timer for each would cost a tenth of a small call. The timer is set
 * to the earliest deadline. Deleting an item does not reset it, so it may fire when nothing is due. Adding and deleting
 * take constant time.
 */
export class DeadlineTimer {
  readonly #timed = new Set<Timed>();
  #timer: NodeJS.Timeout | undefined;
  /** When the timer looks next; it may find that nothing is due. */
  #nextLook: number = Number.POSITIVE_INFINITY;

  add(timed: Timed): void {
    this.#timed.add(timed);
    if (timed.deadline < this.#nextLook) this.#lookAt(timed.deadline);
  }

  delete(timed: Timed): void {
    this.#timed.delete(timed);
  }

  #lookAt(time: number): void {
    clearTimeout(this.#timer);
    this.#nextLook = time;
    const delay = Math.min(Math.ceil(time - performance.now()), MAX_DELAY_MS);
    this.#timer = setTimeout(this.#look, delay).unref();
  }

  readonly #look = (): void => {
    this.#nextLook = Number.POSITIVE_INFINITY;
    const now = performance.now();
    let next = Number.POSITIVE_INFINITY;
    for (const timed of [...this.#timed]) {
      if (timed.deadline > now) {
        next = Math.min(next, timed.deadline);
        continue;
      }
      this.#timed.delete(timed);
      timed.expire();
    }
    if (this.#timed.size > 0 && next < this.#nextLook) this.#lookAt(next);
  };

  /** Watches over nothing any longer. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#timed.clear();
    this.#nextLook = Number.POSITIVE_INFINITY;
  }
}
