import {
  type KeyValueChange,
  KeyValueFullError,
  type KeyValueStore,
  type KeyValueStores,
} from "./key-value-store.ts";

/** The options of {@link MemoryKeyValue}. */
export interface MemoryKeyValueOptions {
  /** Maximum number of keys in a store. Default: 1,000. */
  readonly maxKeys?: number;
  /** Maximum bytes of a store, including keys. Default: 4 MiB. */
  readonly maxBytes?: number;
  /** Maximum number of stores of all sessions. The least recently opened are deleted first. Default: 256. */
  readonly maxStores?: number;
}

/**
 * Keeps stores in the memory of this process. Sessions do not share stores: each has its own store for each
 * name.
 */
export class MemoryKeyValue implements KeyValueStores {
  readonly #stores = new Map<string, MemoryStore>();
  readonly #maxKeys: number;
  readonly #maxBytes: number;
  readonly #maxStores: number;

  constructor(options: MemoryKeyValueOptions = {}) {
    this.#maxKeys = options.maxKeys ?? 1_000;
    this.#maxBytes = options.maxBytes ?? 4 * 1_024 * 1_024;
    this.#maxStores = options.maxStores ?? 256;
  }

  open(name: string, sessionId: string): KeyValueStore {
    const key = JSON.stringify([sessionId, name]);
    const store = this.#stores.get(key) ?? new MemoryStore(this.#maxKeys, this.#maxBytes);
    this.#stores.delete(key);
    this.#stores.set(key, store);
    for (const oldest of this.#stores.keys()) {
      if (this.#stores.size <= this.#maxStores) break;
      this.#stores.delete(oldest);
    }
    return store;
  }
}

class MemoryStore implements KeyValueStore {
  readonly #values = new Map<string, Uint8Array>();
  readonly #maxKeys: number;
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxKeys: number, maxBytes: number) {
    this.#maxKeys = maxKeys;
    this.#maxBytes = maxBytes;
  }

  get(key: string): Uint8Array | undefined {
    return this.#values.get(key)?.slice();
  }

  set(key: string, value: Uint8Array): void {
    this.update([{ key, value }]);
  }

  delete(key: string): void {
    this.update([{ key, value: undefined }]);
  }

  update(changes: readonly KeyValueChange[]): void {
    const last = new Map(changes.map(({ key, value }) => [key, value]));
    let [keys, bytes] = [this.#values.size, this.#bytes];
    for (const [key, value] of last) {
      const known = this.#values.get(key);
      keys += Number(value !== undefined) - Number(known !== undefined);
      bytes += sizeOf(key, value) - sizeOf(key, known);
    }
    if (
      (bytes > this.#maxBytes && bytes > this.#bytes) ||
      (keys > this.#maxKeys && keys > this.#values.size)
    ) {
      throw new KeyValueFullError(`a store has at most ${this.#maxKeys} keys and ${this.#maxBytes} bytes`);
    }
    for (const [key, value] of last) {
      if (value === undefined) this.#values.delete(key);
      else this.#values.set(key, Uint8Array.from(value));
    }
    this.#bytes = bytes;
  }

  listKeys(after: string | undefined, count: number): readonly string[] {
    const keys = [...this.#values.keys()].filter((key) => after === undefined || key > after);
    return keys.sort().slice(0, count);
  }
}

/** The bytes of an entry; 0 if there is none. */
function sizeOf(key: string, value: Uint8Array | undefined): number {
  return value === undefined ? 0 : Buffer.byteLength(key) + value.length;
}
