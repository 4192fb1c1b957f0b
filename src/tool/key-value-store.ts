import type { MaybePromise } from "../base/promises.ts";
import { SandgateError } from "../base/thrown.ts";
import { type OptionNames, refuseUnknown } from "../base/unknown-names.ts";

/** The defaults of {@link MemoryKeyValueOptions}. */
export const KEY_VALUE_DEFAULTS: Required<MemoryKeyValueOptions> = Object.freeze({
  maxKeys: 1_000,
  maxBytes: 4 * 1_024 * 1_024,
  maxStores: 256,
});

const NAMES: OptionNames<MemoryKeyValueOptions> = { maxKeys: true, maxBytes: true, maxStores: true };

/** The options of {@link MemoryKeyValue}. */
export interface MemoryKeyValueOptions {
  /** Maximum number of keys in a store. Default: 1,000. */
  readonly maxKeys?: number;
  /** Maximum bytes of a store, including keys. All stores together have at most 64 times as many. Default: 4 MiB. */
  readonly maxBytes?: number;
  /**
   * Maximum number of stores of all sessions. If there are more, or they have too many bytes together, those that were
   * opened or changed least recently are deleted first. Default: 256.
   */
  readonly maxStores?: number;
}

/** The bytes of all stores, as a multiple of those of one. */
const FULL_STORES = 64;

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
    refuseUnknown(options, NAMES, "a MemoryKeyValue");
    this.#maxKeys = options.maxKeys ?? KEY_VALUE_DEFAULTS.maxKeys;
    this.#maxBytes = options.maxBytes ?? KEY_VALUE_DEFAULTS.maxBytes;
    this.#maxStores = options.maxStores ?? KEY_VALUE_DEFAULTS.maxStores;
  }

  open(name: string, sessionId: string): KeyValueStore {
    const key = JSON.stringify([sessionId, name]);
    const store =
      this.#stores.get(key) ??
      new MemoryStore(
        this.#maxKeys,
        this.#maxBytes,
        () => this.#stores.get(key) === store && this.#use(key, store),
      );
    this.#use(key, store);
    return store;
  }

  /** Makes a store the most recent one, and deletes the oldest ones if there is too much. */
  #use(key: string, store: MemoryStore): void {
    this.#stores.delete(key);
    this.#stores.set(key, store);
    let bytes = 0;
    for (const each of this.#stores.values()) bytes += each.bytes;
    for (const [oldest, old] of this.#stores) {
      if (this.#stores.size <= this.#maxStores && bytes <= FULL_STORES * this.#maxBytes) break;
      this.#stores.delete(oldest);
      bytes -= old.bytes;
    }
  }
}

class MemoryStore implements KeyValueStore {
  readonly #values = new Map<string, Uint8Array>();
  readonly #maxKeys: number;
  readonly #maxBytes: number;
  readonly #onChange: () => void;
  #bytes = 0;

  constructor(maxKeys: number, maxBytes: number, onChange: () => void) {
    this.#maxKeys = maxKeys;
    this.#maxBytes = maxBytes;
    this.#onChange = onChange;
  }

  get bytes(): number {
    return this.#bytes;
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
    this.#onChange();
  }

  listKeys(after: string | undefined, count: number): readonly string[] {
    const keys = [...this.#values.keys()].filter((key) => after === undefined || key > after);
    return keys.sort().slice(0, count);
  }
}

/** The key-value stores of tools, for `openSandboxes({ keyValue })`. */
export interface KeyValueStores {
  /**
   * Opens a store for a session. The implementation decides whether sessions share a store. If it throws or
   * rejects, the tool gets an error that the store is not available.
   *
   * @param name The store's name in the grant.
   */
  open(name: string, sessionId: string): KeyValueStore | Promise<KeyValueStore>;
}

/**
 * A store. Keys have 1 to {@link MAX_KEY_BYTES} bytes as UTF-8, and values at most {@link MAX_VALUE_BYTES}
 * bytes; callers check this. The tool does not see errors of a store, except that it is full: see
 * {@link KeyValueFullError}.
 */
export interface KeyValueStore {
  /** Returns the value of a key; `undefined` if there is none. */
  get(key: string, signal: AbortSignal): MaybePromise<Uint8Array | undefined>;
  /**
   * Sets the value of a key.
   *
   * @throws {KeyValueFullError} if the store is full.
   */
  set(key: string, value: Uint8Array, signal: AbortSignal): MaybePromise<void>;
  /** Deletes a key. Does nothing if it does not exist. */
  delete(key: string, signal: AbortSignal): MaybePromise<void>;
  /**
   * Sets and deletes several keys: all of them, or none if that fails.
   *
   * @throws {KeyValueFullError} if the store would be full.
   */
  update(changes: readonly KeyValueChange[], signal: AbortSignal): MaybePromise<void>;
  /**
   * Lists keys in ascending order of their UTF-16 code units.
   *
   * @param after Lists only keys after this one.
   * @param count Maximum number of keys to list.
   */
  listKeys(after: string | undefined, count: number, signal: AbortSignal): MaybePromise<readonly string[]>;
}

/** A change of one key: its new value, or `undefined`, which deletes it. */
export interface KeyValueChange {
  readonly key: string;
  readonly value: Uint8Array | undefined;
}

/** Thrown by a store that is full. The tool sees that the store is full, but not the message. */
export class KeyValueFullError extends SandgateError {
  override readonly name = "KeyValueFullError";
  override readonly code = "key_value_full";
}

/** Maximum bytes of a key as UTF-8. */
export const MAX_KEY_BYTES = 1_024;

/** Maximum bytes of a value. */
export const MAX_VALUE_BYTES: number = 1_024 * 1_024;

/** Maximum number of keys that are listed at once. */
export const MAX_LISTED_KEYS = 1_000;

/** The bytes of an entry; 0 if there is none. */
function sizeOf(key: string, value: Uint8Array | undefined): number {
  return value === undefined ? 0 : Buffer.byteLength(key) + value.length;
}
