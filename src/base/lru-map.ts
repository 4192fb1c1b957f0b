/** Options of {@link LruMap}. */
export interface LruMapOptions<Key, Value> {
  /** Returns how much of the capacity a value takes. Default: 1. */
  readonly sizeOf?: (value: Value) => number;
  /** Called with the key of each entry that is dropped because the map is full. */
  readonly onEvicted?: (key: Key) => void;
}

/**
 * A map of bounded size. When it is full, it drops the entries that were not used for the longest time, but never
 * the one that was just set.
 */
export class LruMap<Key, Value extends NonNullable<unknown> | null> {
  /** In order of use: the most recently used entry is the last one. */
  readonly #entries = new Map<Key, Value>();
  readonly #capacity: number;
  readonly #sizeOf: (value: Value) => number;
  readonly #onEvicted: ((key: Key) => void) | undefined;
  /** The key that was used most recently. If its entry still exists, it is the last one. */
  #newest: Key | undefined;
  #size = 0;

  /** @param capacity The maximum of the values' total size; the number of entries, unless `sizeOf` is set. */
  constructor(capacity: number, { sizeOf = one, onEvicted }: LruMapOptions<Key, Value> = {}) {
    this.#capacity = capacity;
    this.#sizeOf = sizeOf;
    this.#onEvicted = onEvicted;
  }

  get(key: Key): Value | undefined {
    const value = this.#entries.get(key);
    // Often the same key is used several times in a row: the entry is already the last one.
    if (value === undefined || key === this.#newest) return value;
    this.#entries.delete(key);
    this.#entries.set(key, value);
    this.#newest = key;
    return value;
  }

  set(key: Key, value: Value): void {
    this.delete(key);
    this.#entries.set(key, value);
    this.#newest = key;
    this.#size += this.#sizeOf(value);
    if (this.#size <= this.#capacity) return;
    for (const oldest of this.#entries.keys()) {
      if (this.#size <= this.#capacity || oldest === key) return;
      this.delete(oldest);
      this.#onEvicted?.(oldest);
    }
  }

  /** Deletes an entry; returns whether there was one. */
  delete(key: Key): boolean {
    const value = this.#entries.get(key);
    if (value === undefined) return false;
    this.#entries.delete(key);
    this.#size -= this.#sizeOf(value);
    return true;
  }
}

function one(): number {
  return 1;
}
