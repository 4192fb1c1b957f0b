/** Entries in the order in which they were added, each at a place that never changes. The first can be dropped. */
export class EntryQueue<Entry extends object> {
  #entries: Entry[] = [];
  /** The place of the first element of the array. */
  #offset = 0;
  /** The place of the first entry. */
  #first = 0;

  get first(): number {
    return this.#first;
  }

  /** The place of the next entry to be added. */
  get end(): number {
    return this.#offset + this.#entries.length;
  }

  get size(): number {
    return this.end - this.#first;
  }

  /** Returns the entry at a place from `first` to before `end`. */
  at(place: number): Entry {
    return this.#entries[place - this.#offset] as Entry;
  }

  push(entry: Entry): void {
    this.#entries.push(entry);
  }

  dropFirst(): void {
    this.#first++;
    // Each entry is moved at most once for each that was dropped.
    if (this.#first - this.#offset < this.#entries.length / 2) return;
    this.#entries = this.#entries.slice(this.#first - this.#offset);
    this.#offset = this.#first;
  }
}
