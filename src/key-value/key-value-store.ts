/** Where tools keep values: what an embedder gives to `openSandboxes({ keyValue })`. */
export interface KeyValueStores {
  /**
   * Opens the store of a name for a session. Whether sessions share it is decided here. It may throw or reject:
   * then the tool is told that the store is not available.
   *
   * @param name As the grant names it.
   */
  open(name: string, sessionId: string): KeyValueStore | Promise<KeyValueStore>;
}

/**
 * One store. Keys are 1 to {@link MAX_KEY_BYTES} bytes of UTF-8, values at most {@link MAX_VALUE_BYTES} bytes; who
 * calls has checked that. What is thrown never reaches the tool, but for {@link KeyValueFullError}.
 */
export interface KeyValueStore {
  get(key: string, signal: AbortSignal): MaybePromise<Uint8Array | undefined>;
  /** @throws {KeyValueFullError} when there is no room. */
  set(key: string, value: Uint8Array, signal: AbortSignal): MaybePromise<void>;
  /** A key that is not there is no error. */
  delete(key: string, signal: AbortSignal): MaybePromise<void>;
  /**
   * The first keys, in ascending order of their UTF-16 code units.
   *
   * @param after Only those that come after this one.
   * @param count At most so many.
   */
  listKeys(after: string | undefined, count: number, signal: AbortSignal): MaybePromise<readonly string[]>;
}

type MaybePromise<T> = T | Promise<T>;

/** A store has no room for a value. */
export class KeyValueFullError extends Error {
  override readonly name = "KeyValueFullError";
}

/** Bytes of a key as UTF-8. */
export const MAX_KEY_BYTES = 1_024;

/** Bytes of a value. */
export const MAX_VALUE_BYTES: number = 1_024 * 1_024;

/** Keys that are listed at once. */
export const MAX_LISTED_KEYS = 1_000;
