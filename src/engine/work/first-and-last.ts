/** Keeps the first items and the last ones, up to a size of each, and counts the others. */
export class FirstAndLast<Item> {
  readonly #maxFirst: number;
  readonly #maxLast: number;
  readonly #sizeOf: (item: Item) => number;
  readonly #first: Item[] = [];
  #last: Item[] = [];
  #firstSize = 0;
  #lastSize = 0;
  omitted = 0;

  constructor(maxFirst: number, maxLast: number, sizeOf: (item: Item) => number) {
    this.#maxFirst = maxFirst;
    this.#maxLast = maxLast;
    this.#sizeOf = sizeOf;
  }

  get items(): readonly Item[] {
    return [...this.#first, ...this.#last];
  }

  /** Adds items of an earlier report, some of which were omitted. */
  addAll(items: readonly Item[], omitted: number): void {
    for (const item of items) this.add(item);
    this.omitted += omitted;
  }

  add(item: Item): void {
    const size = this.#sizeOf(item);
    if (this.#last.length === 0 && this.#firstSize + size <= this.#maxFirst) {
      this.#first.push(item);
      this.#firstSize += size;
      return;
    }
    this.#last.push(item);
    this.#lastSize += size;
    let dropped = 0;
    while (this.#lastSize > this.#maxLast && dropped < this.#last.length - 1) {
      this.#lastSize -= this.#sizeOf(this.#last[dropped++] as Item);
    }
    if (dropped === 0) return;
    this.#last = this.#last.slice(dropped);
    this.omitted += dropped;
  }
}
