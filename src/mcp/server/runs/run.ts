import type { ToolExecution } from "../../../engine/call/execution.ts";
import type { JsonObject, JsonValue } from "../../../json/value.ts";
import {
  acceptsResponse,
  type ClientCapabilities,
  checkInputRequest,
  type McpInputRequest,
  missingCapability,
} from "./input-requests.ts";

/** How often a client is asked in one call. */
const MAX_ROUNDS = 8;
/** How many requests are open at once in one call. */
const MAX_OPEN = 16;
/** Those of confirmations have a colon. */
const KEY = /^[\w.-]{1,64}$/;

/** What a run needs next: nothing, because it ended, or responses of the client. */
export type Step =
  | { readonly execution: ToolExecution | null; readonly requests?: undefined }
  | { readonly requests: ReadonlyMap<string, OpenRequest>; readonly execution?: undefined };

/** A request that waits for the client's response. */
export interface OpenRequest {
  readonly request: McpInputRequest;
  /** Aborted when the response is no longer needed. */
  readonly signal: AbortSignal;
}

/** What a client answers to requests, by their keys. */
export type InputResponses = Readonly<Record<string, JsonValue | undefined>>;

/** Options of {@link Run}. */
export interface RunOptions {
  readonly capabilities: ClientCapabilities;
  /** What the client sent before it was asked. It never answers a confirmation. */
  readonly early: InputResponses;
  /** Cancels the call. */
  readonly cancel: () => void;
  /** Releases the slot of the call. Returns a function that waits for one again. */
  readonly suspendSlot: () => () => Promise<void>;
}

interface Pending {
  readonly request: McpInputRequest;
  readonly controller: AbortController;
  readonly settle: (response: JsonObject) => void;
  readonly fail: (reason: Error) => void;
}

/** A call for a client, which can be asked while the call is under way. */
export class Run {
  /** Those that the call needs and the client did not declare; `undefined` if there are none. */
  missing: JsonObject | undefined;
  readonly capabilities: ClientCapabilities;
  readonly #early: Map<string, JsonValue | undefined>;
  readonly #cancel: () => void;
  readonly #suspendSlot: () => () => Promise<void>;
  /** How many of the tool's own waits for the client last. */
  #waits = 0;
  #reclaim: (() => Promise<void>) | undefined;
  readonly #pending = new Map<string, Pending>();
  #rounds = 0;
  #execution: ToolExecution | null | undefined;
  #failure: { readonly reason: unknown } | undefined;
  #changed = Promise.withResolvers<void>();

  constructor({ capabilities, early, cancel, suspendSlot }: RunOptions) {
    this.#suspendSlot = suspendSlot;
    this.capabilities = capabilities;
    this.#early = new Map(Object.entries(early));
    this.#cancel = cancel;
  }

  /** Follows the call to its end. */
  follow(execution: Promise<ToolExecution | null>): void {
    execution.then(
      (value) => {
        this.#execution = value;
        this.#end();
      },
      (reason: unknown) => {
        this.#failure = { reason };
        this.#end();
      },
    );
  }

  get hasEnded(): boolean {
    return this.#execution !== undefined || this.#failure !== undefined;
  }

  /**
   * Asks the client, and waits for all its responses.
   *
   * @param requests At most 16, by keys of letters, digits and `_.-`.
   * @param signal Withdraws them.
   * @throws {TypeError} as a rejection, if a request is invalid, and an `Error` if the client cannot answer it or the call ends.
   */
  async ask(
    requests: Readonly<Record<string, McpInputRequest>>,
    signal?: AbortSignal,
  ): Promise<Readonly<Record<string, JsonObject>>> {
    const entries = Object.entries(requests);
    for (const [key, request] of entries) this.#check(key, request);
    signal?.throwIfAborted();
    return this.#whileReleased(() => this.#responsesTo(entries, signal));
  }

  async #responsesTo(
    entries: readonly (readonly [string, McpInputRequest])[],
    signal: AbortSignal | undefined,
  ): Promise<Readonly<Record<string, JsonObject>>> {
    const responses = await Promise.all(
      entries.map(async ([key, request]): Promise<[string, JsonObject]> => {
        const early = this.#early.get(key);
        this.#early.delete(key);
        if (acceptsResponse(request, early)) return [key, early as JsonObject];
        const { promise, resolve, reject } = Promise.withResolvers<JsonObject>();
        const withdraw = this.open(key, request, resolve, reject);
        const stop = (): void => {
          withdraw();
          reject(new Error("the request was withdrawn"));
        };
        signal?.addEventListener("abort", stop, { once: true });
        try {
          return [key, await promise];
        } finally {
          signal?.removeEventListener("abort", stop);
        }
      }),
    );
    return Object.fromEntries(responses);
  }

  /** A client that never answers must not take the places of the session's other calls. */
  async #whileReleased<Result>(wait: () => Promise<Result>): Promise<Result> {
    if (this.#waits++ === 0) this.#reclaim = this.#suspendSlot();
    try {
      return await wait();
    } finally {
      if (--this.#waits === 0) await this.#reclaim?.();
    }
  }

  #check(key: string, request: McpInputRequest): void {
    if (!KEY.test(key)) throw new TypeError("a key must have 1 to 64 letters, digits and characters of _.-");
    if (this.#pending.has(key)) throw new TypeError(`the call waits for '${key}' already`);
    checkInputRequest(key, request);
    const missing = missingCapability(request, this.capabilities);
    if (missing === undefined) return;
    this.missing = { ...this.missing, ...missing };
    throw new Error(`the client does not support ${request.method}`);
  }

  /**
   * Opens a request to the client. The embedder's code is never called with a response that has another form.
   *
   * @returns a function that withdraws it.
   */
  open(
    key: string,
    request: McpInputRequest,
    settle: (response: JsonObject) => void,
    fail: (reason: Error) => void = () => {},
  ): () => void {
    if (this.hasEnded || this.#pending.size >= MAX_OPEN) {
      fail(new Error("the client cannot be asked any more"));
      return () => {};
    }
    const pending = { request, settle, fail, controller: new AbortController() };
    this.#pending.set(key, pending);
    this.#notify();
    return () => {
      if (this.#pending.get(key) !== pending) return;
      this.#pending.delete(key);
      pending.controller.abort();
      this.#notify();
    };
  }

  /** Takes responses of the client. Those to nothing that is open, and those of another form, are ignored. */
  supply(responses: InputResponses): void {
    for (const [key, pending] of [...this.#pending]) {
      if (!Object.hasOwn(responses, key) || !acceptsResponse(pending.request, responses[key])) continue;
      this.#pending.delete(key);
      pending.settle(responses[key] as JsonObject);
    }
  }

  /** Rejects a request to which the client gave no response. */
  fail(key: string, message: string): void {
    const pending = this.#pending.get(key);
    this.#pending.delete(key);
    pending?.fail(new Error(message));
  }

  /**
   * Waits until the call has ended, or waits for the client. A call that asks too often is cancelled.
   *
   * @throws what the dispatch of the call threw, as a rejection.
   */
  async next(): Promise<Step> {
    for (;;) {
      if (this.#failure !== undefined) throw this.#failure.reason;
      if (this.#execution !== undefined) return { execution: this.#execution };
      if (this.#pending.size > 0 && this.#rounds < MAX_ROUNDS) {
        this.#rounds++;
        const open = Array.from(this.#pending, ([key, { request, controller }]): [string, OpenRequest] => [
          key,
          { request, signal: controller.signal },
        ]);
        return { requests: new Map(open) };
      }
      if (this.#pending.size > 0) this.cancel();
      await this.#changed.promise;
    }
  }

  /** Cancels the call, and everything that it asks. */
  cancel(): void {
    this.#cancel();
    this.#failPending();
  }

  #end(): void {
    this.#failPending();
    this.#notify();
  }

  #failPending(): void {
    for (const [key, { controller, fail }] of [...this.#pending]) {
      this.#pending.delete(key);
      controller.abort();
      fail(new Error("the call has ended"));
    }
  }

  #notify(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}
