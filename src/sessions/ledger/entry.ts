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

/** A call, as ledgers know it. It counts from the moment in which the policy is asked about it. */
export interface Entry {
  readonly turnId: string;
  readonly tool: string;
  /** Its arguments that are numbers, by their pointers. Replaced if a person changes the arguments. */
  numbers: ReadonlyMap<string, number>;
  /** Whether a person confirmed the call. */
  isApproved: boolean;
  /** Whether it ended with success. */
  isDone: boolean;
  /** In milliseconds since the epoch; `undefined` while it is under way. */
  endedAt: number | undefined;
}

/** An entry, with what it takes to keep it in a store. */
export interface StoredEntry extends Entry {
  readonly id: string;
  readonly sessionId: string;
  /** The id of the principal; `undefined` if the session has none. */
  readonly principal: string | undefined;
  /** Whether the store has it. */
  isKept: boolean;
}
