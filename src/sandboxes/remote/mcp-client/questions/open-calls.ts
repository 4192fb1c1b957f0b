import { AsyncLocalStorage } from "node:async_hooks";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../../json/value.ts";
import type { McpCallOptions } from "../../../../tool/implementations/remote-implementation.ts";
import type { LogLevel } from "../../../../tool/streamed.ts";
import type { MessageId, WireMessage } from "../wire-message.ts";

/** What a server asks of a client: a form, a page to open, a model's answer, or directories. */
export interface McpAskedRequest {
  readonly method: string;
  readonly params: JsonObject;
}

/** The link from a server's call to the client that made it. */
export interface McpCallLink {
  /** What the client can be asked (MCP, `ClientCapabilities`), as far as the server may. */
  readonly capabilities: JsonObject;
  /**
   * Asks the client. Requests that are asked in one turn of the event loop reach it together.
   *
   * @param key Differs for the requests of one call that are open.
   * @param signal Withdraws the request.
   * @throws an `Error` as a rejection, if the client cannot or must not be asked. Its text may be sent to the
   *   server.
   */
  ask(key: string, request: McpAskedRequest, signal: AbortSignal): Promise<JsonObject>;
}

/** Milliseconds in which a server's requests are collected: a client of 2026-07-28 gets them in one result. */
const COLLECT_MS = 20;

/** How many requests of one call may be open. */
const MAX_OPEN = 16;

/** How often a server of 2025-11-25 may ask in one call. */
const MAX_REQUESTS = 64;

/** A call that a server works on, and through which it can ask. */
export interface OpenCall {
  readonly link: McpCallLink | undefined;
  readonly signal: AbortSignal;
  /** Receives the server's log messages about the call. Must not throw. */
  readonly onLog?: McpCallOptions["onLog"];
}

interface PendingQuestion {
  readonly request: McpAskedRequest;
  readonly signal: AbortSignal;
  readonly settle: (answer: JsonObject | Error) => void;
}

interface Tracked extends OpenCall {
  readonly waiting: PendingQuestion[];
  open: number;
  requests: number;
}

/**
 * The calls that a server of 2025-11-25 works on, and which of them a request of the server belongs to: the
 * one on whose stream it arrived; over stdio, or on the stream of a session, the only one that is under way
 * at that time. A request that could belong to several calls is not assigned, since another principal must
 * not be asked.
 */
export class OpenCalls {
  readonly #sending = new AsyncLocalStorage<Tracked>();
  readonly #open = new Set<Tracked>();
  readonly #waiting: (() => void)[] = [];
  /** The calls that requests of the server belong to. */
  readonly #from = new Map<MessageId, Tracked>();

  /** Sends a request that is a call. The server can ask until it has ended. */
  async during<T>(call: OpenCall, send: () => Promise<T>): Promise<T> {
    const tracked: Tracked = { ...call, waiting: [], open: 0, requests: 0 };
    this.#open.add(tracked);
    try {
      return await this.#sending.run(tracked, send);
    } finally {
      this.#open.delete(tracked);
      for (const [id, from] of this.#from) if (from === tracked) this.#from.delete(id);
      if (this.#open.size === 0) for (const resolve of this.#waiting.splice(0)) resolve();
    }
  }

  /** Waits until no call is under way. */
  async idle(): Promise<void> {
    if (this.#open.size > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** The call that is being sent, in the asynchronous context of its request. */
  get current(): OpenCall | undefined {
    return this.#sending.getStore();
  }

  /** A message other than an answer arrived on the stream of a call. */
  came({ id, method, params }: WireMessage, call: OpenCall): void {
    const tracked = call as Tracked;
    if (!this.#open.has(tracked)) return;
    if (method === LOG) logTo(tracked, params);
    else if (id !== undefined && this.#from.size < this.#open.size * MAX_OPEN) this.#from.set(id, tracked);
  }

  /**
   * A message other than an answer arrived outside the streams of calls: over stdio, or on the stream of a
   * session over HTTP.
   */
  cameAlone(message: WireMessage): void {
    const [only] = this.#open;
    if (only !== undefined && this.#open.size === 1) this.came(message, only);
  }

  /**
   * Asks the client of the call to which a server's request belongs.
   *
   * @param signal Withdraws the request.
   * @throws an `Error` for the server, as a rejection, if there is no such call or the client cannot be asked.
   */
  async ask(
    request: McpAskedRequest,
    { id, signal }: { readonly id: MessageId; readonly signal: AbortSignal },
  ): Promise<JsonObject> {
    const call = this.#from.get(id);
    this.#from.delete(id);
    if (call?.link === undefined) throw new Error("no client of a call can be asked");
    if (call.open >= MAX_OPEN || call.requests >= MAX_REQUESTS) throw new Error("the call asks too often");
    call.open++;
    call.requests++;
    try {
      const { promise, resolve, reject } = Promise.withResolvers<JsonObject>();
      const settle = (answer: JsonObject | Error): void =>
        answer instanceof Error ? reject(answer) : resolve(answer);
      call.waiting.push({ request, signal, settle });
      if (call.waiting.length === 1) setTimeout(() => flush(call), COLLECT_MS);
      return await promise;
    } finally {
      call.open--;
    }
  }
}

/** A log message that could belong to several calls is only sent to the operator. */
function logTo({ onLog }: OpenCall, params: JsonValue | undefined): void {
  if (!isJsonObject(params)) return;
  const { level, data = null } = params;
  const message = typeof data === "string" ? data : JSON.stringify(data);
  onLog?.(LEVELS[String(level)] ?? "error", message);
}

const LOG = "notifications/message";

/** The levels of MCP. All others are errors. */
const LEVELS: Readonly<Record<string, LogLevel>> = {
  debug: "debug",
  info: "info",
  notice: "info",
  warning: "warn",
};

function flush(call: Tracked): void {
  for (const { request, signal, settle } of call.waiting.splice(0)) {
    const signals = AbortSignal.any([signal, call.signal]);
    const asked =
      call.link?.ask(`asked_${++keys}`, request, signals) ?? Promise.reject(new Error("there is no client"));
    asked.then(settle, (reason: unknown) =>
      settle(reason instanceof Error ? reason : new Error(String(reason))),
    );
  }
}

/** Keys only have to differ within a call. */
let keys = 0;

/** The response to a form that was not shown to a person. */
export const DECLINED: JsonObject = Object.freeze({ action: "decline" });

/** Reads a member of `inputRequests`; `undefined` if it is not one. */
export function readAsked(value: JsonValue | undefined): McpAskedRequest | undefined {
  if (!isJsonObject(value) || typeof value["method"] !== "string") return undefined;
  const { method, params = {} } = value;
  return isJsonObject(params) ? { method, params } : undefined;
}
