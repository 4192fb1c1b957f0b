/** Random numbers that are the same for the same seed. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  /** A whole number from `low` to `high`, both included. */
  from(low: number, high: number): number {
    return low + Math.floor(this.#next() * (high - low + 1));
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[this.from(0, items.length - 1)] as Item;
  }

  /** Mulberry32. */
  #next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }
}
