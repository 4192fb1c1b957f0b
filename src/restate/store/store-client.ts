import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { ToolExecution } from "../../engine/call/execution.ts";
import { SessionStoreError } from "../../sessions/session-errors.ts";
import type { Ingress } from "../connection/ingress.ts";
import { RestateError, RestateHandlerError, TOO_LONG } from "../connection/ingress.ts";
import { type Operation, type OperationResult, REFUSED, SEVERAL, TOO_MANY } from "../objects/handlers.ts";
import { canBeInKey, type ObjectAddress } from "../objects/object-keys.ts";

/** The options of stores on Restate. */
export interface RestateStoreOptions {
  /** Reaches Restate, which must have the virtual objects registered. The store does not close it. */
  readonly ingress: Ingress;
  /**
   * What the keys of all objects of this store begin with, for several stores on one cluster of Restate. No prefix may be
   * the beginning of another one. Default: none.
   */
  readonly prefix?: string;
  /** Milliseconds for which an operation waits for its answer. Default: a minute. */
  readonly timeoutMs?: number;
}

export const DEFAULT_TIMEOUT_MS = 60_000;

interface QueuedOperation extends Operation {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** How operations are run. */
interface OperationRunner {
  /** Runs one operation, and resolves with its result. */
  readonly run: (operation: Operation) => Promise<unknown>;
  /** Runs operations one after the other, at least the first one. Those without a result were not run. */
  readonly runSome: (operations: readonly Operation[]) => Promise<readonly OperationResult[]>;
  /** Whether an operation can be run in a group. */
  readonly canJoin: (operation: Operation) => boolean;
  /** Returns the error of an operation that its handler refused. */
  readonly refuse: (message: string, status: number) => Error;
  /** Whether operations were refused together because they are too long, so that none was run. */
  readonly isTooLong: (error: unknown) => boolean;
  /** Called when nothing waits or runs any longer. */
  readonly onIdle: () => void;
}

/** How many operations run together at most, and how long the JSON of their inputs is. */
const MAX_OPERATIONS = 64;

const MAX_LENGTH = 8_000_000;

/**
 * The operations of this process on one object, in the order in which they were added: concurrent requests would reach the
 * object in any order. Those that are added while one runs are run together.
 */
export class OperationQueue {
  readonly #runner: OperationRunner;
  readonly #waiting: QueuedOperation[] = [];
  #isRunning = false;

  constructor(runner: OperationRunner) {
    this.#runner = runner;
  }

  add<Result>(operation: Operation): Promise<Result> {
    return new Promise<unknown>((resolve, reject) => {
      this.#waiting.push({ ...operation, resolve, reject });
      if (!this.#isRunning) void this.#work();
    }) as Promise<Result>;
  }

  async #work(): Promise<void> {
    this.#isRunning = true;
    while (this.#waiting.length > 0) {
      const next = this.#next();
      if (next.length === 1) await this.#runOne(next[0] as QueuedOperation);
      else await this.#runSome(next);
    }
    this.#isRunning = false;
    this.#runner.onIdle();
  }

  /** Takes the operations that are run next. */
  #next(): readonly QueuedOperation[] {
    let count = 0;
    let length = 0;
    for (const operation of this.#waiting) {
      if (count === MAX_OPERATIONS || !this.#runner.canJoin(operation)) break;
      if (this.#waiting.length > 1) length += lengthOf(operation);
      if (length > MAX_LENGTH) break;
      count++;
    }
    return this.#waiting.splice(0, Math.max(count, 1));
  }

  async #runOne({ resolve, reject, ...operation }: QueuedOperation): Promise<void> {
    try {
      resolve(await this.#runner.run(operation));
    } catch (error) {
      reject(error);
    }
  }

  async #runSome(operations: readonly QueuedOperation[]): Promise<void> {
    try {
      const results = await this.#runner.runSome(
        operations.map(({ handler, input }) => ({ handler, input })),
      );
      for (const [index, outcome] of results.entries()) {
        const { resolve, reject } = operations[index] as QueuedOperation;
        if ("refused" in outcome) reject(this.#runner.refuse(outcome.refused, outcome.status));
        else resolve(outcome.result);
      }
      this.#waiting.unshift(...operations.slice(results.length));
    } catch (error) {
      if (this.#runner.isTooLong(error)) for (const each of operations) await this.#runOne(each);
      else for (const { reject } of operations) reject(error);
    }
  }
}

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
      // They need the whole state of the object, unlike other operations.
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
          ...pinged,
          handler: "ping",
          idempotencyKey: randomUUID(),
          signal,
          retryMs: 0,
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

/** The length of the JSON of an operation's input. One that cannot be sent runs alone, and so fails alone. */
function lengthOf({ input }: Operation): number {
  try {
    return JSON.stringify(input)?.length ?? 0;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/** Whether Restate refused a request because it is too long. */
export function isTooLong(error: unknown): boolean {
  return error instanceof RestateHandlerError && error.status === TOO_LONG;
}

/** The bytes of the JSON of an execution, and of the executions of a message, that travel in a message of Restate. */
const MAX_BYTES = 12_000_000;
/** The bytes of the arguments, and of a name, that are stored of an execution that is too long: there may be thousands. */
const MAX_KEPT_BYTES = 1_000;

/** Returns executions with those replaced that are too long to be stored together. */
export function withinMessage(
  executions: readonly (ToolExecution | null)[],
): readonly (ToolExecution | null)[] {
  let left = MAX_BYTES;
  return executions.map((execution) => {
    if (execution === null) return null;
    const bytes = bytesOf(execution);
    if (bytes > left) return tooLongExecution(execution);
    left -= bytes;
    return execution;
  });
}

/**
 * Returns what is stored of an execution that is too long: neither its output nor long arguments. The process that runs the
 * call uses the whole execution.
 */
export function tooLongExecution(execution: ToolExecution): ToolExecution {
  const { callId, toolName: name, arguments: args, durationMs, sandbox, receipt, success, error } = execution;
  const toolName = bytesOf(name) > MAX_KEPT_BYTES ? `${name.slice(0, MAX_KEPT_BYTES / 10)}…` : name;
  return {
    callId,
    toolName,
    arguments: bytesOf(args) > MAX_KEPT_BYTES ? null : args,
    durationMs,
    sandbox,
    receipt,
    success: false,
    output: null,
    error: {
      code: error?.code ?? "execution_error",
      message: `Tool '${toolName}' ${success ? "completed" : "failed"}, but its result was too long to be kept`,
      effect: success ? "committed" : (error?.effect ?? "unknown"),
      userVisible: true,
    },
  };
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
