import { race } from "../../base/timers.ts";
import {
  KeyValueFullError,
  type KeyValueStore,
  type KeyValueStores,
  MAX_KEY_BYTES,
  MAX_LISTED_KEYS,
  MAX_VALUE_BYTES,
} from "../../key-value/key-value-store.ts";
import type { CallEffect } from "../contract/outcome.ts";
import type { KeyValueRequest, ServiceError, ServiceReply } from "./service-request.ts";

/** Which stores a call may use. */
export interface KeyValueScope {
  /** The names of the stores that were granted. */
  readonly granted: readonly string[];
  readonly sessionId: string;
}

/** Uses key-value stores for one call. */
export class KeyValueService {
  readonly #stores: KeyValueStores | undefined;
  readonly #scope: KeyValueScope;
  readonly #opened = new Map<string, KeyValueStore>();
  #effect: CallEffect = "none";

  /** @param stores `undefined` if the embedder configured none. */
  constructor(stores: KeyValueStores | undefined, scope: KeyValueScope) {
    this.#stores = stores;
    this.#scope = scope;
  }

  /** The effect of the requests. A write may have happened even if the store reported an error. */
  get effect(): CallEffect {
    return this.#effect;
  }

  async answer(request: KeyValueRequest, signal: AbortSignal): Promise<ServiceReply<unknown, ServiceError>> {
    const { store: name } = request;
    if (this.#stores === undefined || !this.#scope.granted.includes(name)) {
      return failure("permission_denied", `the store '${name.slice(0, 64)}' was not granted`);
    }
    try {
      const problem = problemOf(request);
      if (problem !== undefined) return problem;
      // A store that does not answer must not prevent the call from ending.
      const value = await race(this.#use(this.#stores, request, signal), { signals: [signal] });
      return value === "aborted" ? failure("unavailable", "the call has ended") : { ok: value.ok };
    } catch (error) {
      if (error instanceof KeyValueFullError) return failure("full", "the store is full");
      return failure("unavailable", "the store is not available");
    }
  }

  async #use(
    stores: KeyValueStores,
    request: KeyValueRequest,
    signal: AbortSignal,
  ): Promise<{ readonly ok: unknown }> {
    const { store: name } = request;
    const store = this.#opened.get(name) ?? (await stores.open(name, this.#scope.sessionId));
    this.#opened.set(name, store);
    // Opening it may have taken longer than the call.
    signal.throwIfAborted();
    switch (request.kind) {
      case "get": {
        const value = await store.get(request.key, signal);
        if (value === undefined) return { ok: null };
        if (value.length > MAX_VALUE_BYTES)
          throw new RangeError("the store returned a value that is too large");
        return { ok: Buffer.from(value).toString("base64") };
      }
      case "set":
        this.#effect = "unknown";
        await store.set(request.key, new Uint8Array(Buffer.from(request.value, "base64")), signal);
        return { ok: null };
      case "delete":
        this.#effect = "unknown";
        await store.delete(request.key, signal);
        return { ok: null };
      case "list-keys": {
        const keys = await store.listKeys(request.after, MAX_LISTED_KEYS, signal);
        return { ok: keys.slice(0, MAX_LISTED_KEYS).map((key) => String(key).toWellFormed()) };
      }
    }
  }
}

function problemOf(request: KeyValueRequest): ServiceReply<never, ServiceError> | undefined {
  if (request.kind === "list-keys") return undefined;
  const keyBytes = Buffer.byteLength(request.key);
  if (keyBytes === 0 || keyBytes > MAX_KEY_BYTES) {
    return failure("too_large", `a key must have 1 to ${MAX_KEY_BYTES} bytes`);
  }
  if (request.kind !== "set" || Buffer.byteLength(request.value, "base64") <= MAX_VALUE_BYTES) {
    return undefined;
  }
  return failure("too_large", `a value must have at most ${MAX_VALUE_BYTES} bytes`);
}

function failure(code: string, message: string): ServiceReply<never, ServiceError> {
  return { error: { code, message } };
}
