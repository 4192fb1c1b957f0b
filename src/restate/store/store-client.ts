import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { SessionStoreError } from "../../sessions/store/session-store-error.ts";
import type { Ingress } from "../connection/ingress.ts";
import { RestateError, RestateHandlerError } from "../connection/restate-error.ts";
import { REFUSED, TOO_MANY } from "../objects/call-object.ts";
import { canBeInKey, type ObjectAddress } from "../objects/object-keys.ts";
import { SEVERAL } from "../objects/several.ts";
import { OperationQueue } from "./operation-queue.ts";
import { isTooLong } from "./too-long.ts";

/** How a store calls its objects. */
export interface StoreClientOptions {
  readonly ingress: Ingress;
  /** Milliseconds for which an operation waits for its answer. */
  readonly timeoutMs: number;
  /** The object that is called to learn whether objects can be called again. */
  readonly pinged: ObjectAddress;
}

/** Milliseconds between two attempts to learn whether Restate can be reached again. */
const PING_EVERY_MS = 500;
const PING_TIMEOUT_MS = 5_000;

/** Calls the objects of a store, and knows whether they can be called. */
export class StoreClient {
  readonly #options: StoreClientOptions;
  readonly #closing = new AbortController();
  #problem: string | undefined;
  #lastPlace = 0;
  /** Of the objects on which operations run. */
  readonly #queues = new Map<string, OperationQueue>();

  constructor(options: StoreClientOptions) {
    this.#options = options;
  }

  /** Why objects cannot be called now; `undefined` if they can. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /**
   * Returns a number for what is added now: greater than all before, and than those that other processes had before, as
   * far as their clocks agree.
   */
  nextPlace(): number {
    this.#lastPlace = Math.max(this.#lastPlace + 1, Date.now() * 1_000);
    return this.#lastPlace;
  }

  /** Runs an operation that changes an object, after those that came before. Throws like {@link read}. */
  async write<Result>(object: ObjectAddress, handler: string, input?: unknown): Promise<Result> {
    checkKey(object);
    const name = `${object.service}/${object.key}`;
    let queue = this.#queues.get(name);
    if (queue === undefined) {
      queue = this.#queueOf(object, () => this.#queues.delete(name));
      this.#queues.set(name, queue);
    }
    return queue.add<Result>({ handler, input });
  }

  /**
   * Runs an operation that reads an object.
   *
   * @throws {SessionStoreError} if the handler refuses it, {@link RestateError} if it may not have run, and {@link TypeError}
   *   if no object can have the key. All are rejections.
   */
  async read<Result>(object: ObjectAddress, handler: string, input?: unknown): Promise<Result> {
    checkKey(object);
    // Reading twice does no harm.
    return this.#call(object, handler, input, undefined);
  }

  close(): void {
    this.#closing.abort();
  }

  async #call<Result>(
    object: ObjectAddress,
    handler: string,
    input: unknown,
    idempotencyKey: string | undefined,
  ): Promise<Result> {
    const { ingress, timeoutMs } = this.#options;
    const signal = AbortSignal.timeout(timeoutMs);
    try {
      const result = await ingress.call<Result>({ ...object, handler, input, idempotencyKey, signal });
      this.#problem = undefined;
      return result;
    } catch (thrown) {
      if (thrown instanceof RestateHandlerError && thrown.status === REFUSED) {
        throw new SessionStoreError(thrown.message, { cause: thrown });
      }
      if (isTooLong(thrown) || (thrown instanceof RestateHandlerError && thrown.status === TOO_MANY))
        throw thrown;
      throw this.#fail(
        signal.aborted
          ? new RestateError(`Restate did not answer within ${timeoutMs} ms`, {
              mayHaveBegun: true,
              cause: thrown,
            })
          : thrown,
      );
    }
  }

  #queueOf(object: ObjectAddress, onIdle: () => void): OperationQueue {
    return new OperationQueue({
      run: ({ handler, input }) => this.#call(object, handler, input, randomUUID()),
      runSome: (operations) => this.#call(object, SEVERAL, operations, randomUUID()),
      // They need all that the object has, which the others do not.
      canJoin: ({ handler }) => handler !== "remove",
      refuse: (message, status) =>
        status === REFUSED ? new SessionStoreError(message) : new RestateHandlerError(message, status),
      isTooLong,
      onIdle,
    });
  }

  #fail(error: unknown): unknown {
    const isFirst = this.#problem === undefined;
    this.#problem = error instanceof Error ? error.message : String(error);
    if (isFirst) void this.#recover();
    return error;
  }

  /** Without it, a server that is not ready, and so gets no calls, would never be ready again. */
  async #recover(): Promise<void> {
    const { ingress, pinged } = this.#options;
    while (this.#problem !== undefined && !this.#closing.signal.aborted) {
      try {
        await sleep(PING_EVERY_MS, undefined, { signal: this.#closing.signal, ref: false });
        const signal = AbortSignal.timeout(PING_TIMEOUT_MS);
        await ingress.call({
          ...{ ...pinged, handler: "ping", idempotencyKey: randomUUID() },
          ...{ signal, retryMs: 0 },
        });
        this.#problem = undefined;
      } catch {
        // It is tried again.
      }
    }
  }
}

function checkKey({ service, key }: ObjectAddress): void {
  if (!canBeInKey(key))
    throw new TypeError(`no key of '${service}' is so long, or has half of a surrogate pair`);
}
