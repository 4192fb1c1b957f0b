/** The longest delay of a Node.js timer, in ms (2^31 - 1); a longer one would fire at once. */
export const MAX_DELAY_MS: number = 2 ** 31 - 1;

/** Options of {@link DeadlineTimer}. */
export interface DeadlineTimerOptions<Item> {
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
  #nextLook: number | undefined;

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
    if (this.#nextLook === undefined || deadline < this.#nextLook) this.#lookAt(deadline);
    else if (this.#keepsAlive && this.#items.size === 1) this.#timer?.ref();
  }

  delete(item: Item): void {
    this.#items.delete(item);
    if (this.#keepsAlive && this.#items.size === 0) this.#timer?.unref();
  }

  /** Deletes all items and clears the timer. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#nextLook = undefined;
    this.#items.clear();
  }

  #lookAt(time: number): void {
    clearTimeout(this.#timer);
    const now = performance.now();
    const delay = Math.min(Math.max(Math.ceil(time - now), 1), MAX_DELAY_MS);
    this.#nextLook = Math.min(time, now + delay);
    this.#timer = setTimeout(this.#look, delay);
    if (!this.#keepsAlive) this.#timer.unref();
  }

  readonly #look = (): void => {
    this.#nextLook = undefined;
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
    if (this.#items.size > 0 && (this.#nextLook === undefined || next < this.#nextLook)) this.#lookAt(next);
  };
}
