import type { MaybePromise } from "../base/promises.ts";
import { SandgateError } from "../base/sandgate-error.ts";

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
