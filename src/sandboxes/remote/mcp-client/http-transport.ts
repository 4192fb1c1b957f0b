import { setTimeout as sleep } from "node:timers/promises";
import type {
  FetchLike,
  JSONRPCMessage,
  StreamableHTTPClientTransport,
  Transport,
  TransportSendOptions,
} from "@modelcontextprotocol/client";
import { race } from "../../../base/timers.ts";
import { isJsonObject } from "../../../json/value.ts";
import type { EndOfStream, PostCall } from "./http-fetch.ts";
import { UnsentError } from "./unsent.ts";
import type { WireFilter } from "./wire-filter.ts";
import type { MessageId, WireMessage } from "./wire-message.ts";

/** Milliseconds until a stream that ended early is continued, if its server does not say when. */
const RETRY_MS = 1_000;

/** How often in a row that may fail. */
const MAX_FAILURES = 2;

/** Milliseconds for a server to end the stream of a request that it has answered. */
const ANSWERED_MS = 1_000;

/** The SDK's own declarations do not agree under `exactOptionalPropertyTypes`. */
type InnerOptions = Parameters<StreamableHTTPClientTransport["send"]>[1];

/** A transport over HTTP whose messages are not checked. */
export type UncheckedTransport = Pick<
  StreamableHTTPClientTransport,
  | "onmessage"
  | "onclose"
  | "onerror"
  | "sessionId"
  | "start"
  | "send"
  | "close"
  | "setProtocolVersion"
  | "terminateSession"
>;

/** Options of an {@link HttpTransport}. */
interface HttpTransportOptions {
  /** Returns a text without the tokens. Default: there are none. */
  readonly redact?: ((text: string) => string) | undefined;
  /** See {@link HttpTransport.isRefused}. Default: it never is. */
  readonly isRefused?: () => boolean;
  /** Sends calls that do not go through the SDK's client. Default: they go through its transport. */
  readonly post?: PostCall | undefined;
}

/** Lets a filter check what a transport over HTTP sends and receives, and hides the tokens that a server repeats. */
export class HttpTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: <T extends JSONRPCMessage>(message: T) => void;
  readonly hasPerRequestStream: boolean;
  /** Whether the server has refused every message so far, as one does that only speaks HTTP+SSE. */
  readonly isRefused: () => boolean;
  readonly #inner: UncheckedTransport;
  readonly #filter: WireFilter;
  readonly #redact: ((text: string) => string) | undefined;
  readonly #post: PostCall | undefined;
  #protocolVersion: string | undefined;
  readonly #streams = new RequestStreams();

  constructor(
    inner: UncheckedTransport,
    filter: WireFilter,
    { redact, isRefused, post }: HttpTransportOptions,
  ) {
    this.isRefused = isRefused ?? (() => false);
    this.#post = post;
    this.hasPerRequestStream = !(inner instanceof SseTransport);
    this.#redact = redact;
    this.#inner = inner;
    this.#filter = filter;
    inner.onmessage = (message) => this.#receive(message);
    inner.onclose = () => {
      // Those that are not the SDK's.
      this.#streams.close();
      this.onclose?.();
    };
    inner.onerror = (error) => this.onerror?.(error);
  }

  get sessionId(): string | undefined {
    return this.#inner.sessionId;
  }

  start(): Promise<void> {
    return this.#inner.start();
  }

  async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    const { id, method } = message as WireMessage;
    const isRequest = id !== undefined && method !== undefined;
    this.#filter.sending(message, options?.requestSignal);
    try {
      const onRequestStreamEnd = (): void => {
        this.#streams.ended(id);
        options?.onRequestStreamEnd?.();
        const answer = this.#filter.ended(message);
        if (answer !== undefined && !this.#filter.own.deliver(answer))
          this.onmessage?.(answer as unknown as JSONRPCMessage);
      };
      const requestSignal = isRequest ? this.#streams.begin(id, options?.requestSignal) : undefined;
      const more = { onRequestStreamEnd, ...(requestSignal && { requestSignal }) };
      const given = { ...options, ...more } as NonNullable<InnerOptions>;
      if (requestSignal !== undefined && this.#post !== undefined && this.#filter.own.has(id))
        await this.#postCall(this.#post, message, { ...given, requestSignal });
      else await this.#inner.send(message, given);
      this.#streams.sent(id);
    } catch (error) {
      this.#streams.ended(id);
      this.#filter.unsent(message);
      // The message contains the body of the response.
      if (error instanceof Error && this.#redact) error.message = this.#redact(error.message);
      throw error;
    } finally {
      if (method === "notifications/cancelled") this.#streams.abort(cancelledBy(message));
    }
  }

  /** A stream that ended early is continued: the server is asked for what follows its last event. */
  async #postCall(
    post: PostCall,
    message: JSONRPCMessage,
    {
      requestSignal: signal,
      onRequestStreamEnd,
    }: NonNullable<InnerOptions> & { readonly requestSignal: AbortSignal },
  ): Promise<void> {
    const { id, params } = message as WireMessage;
    const posted = {
      body: JSON.stringify(message),
      headers: this.#headersOf(params),
      signal,
      onMessage: (each: WireMessage) => this.#receive(each as unknown as JSONRPCMessage),
    };
    try {
      let end: EndOfStream = await post(posted);
      for (let failures = 0; failures < MAX_FAILURES; ) {
        const { lastEventId, retryMs = RETRY_MS } = end;
        if (lastEventId === undefined || !this.#filter.own.has(id)) break;
        await sleep(retryMs, undefined, { signal });
        try {
          end = { retryMs, ...(await post({ ...posted, lastEventId })) };
          failures = 0;
        } catch {
          signal.throwIfAborted();
          failures++;
        }
      }
      onRequestStreamEnd?.();
    } catch (error) {
      // It was cancelled, or its stream was ended after the answer.
      if (!signal.aborted) throw error;
    }
  }

  #headersOf(params: WireMessage["params"]): Record<string, string> {
    const { name, _meta } = isJsonObject(params) ? params : {};
    const revision = isJsonObject(_meta) ? _meta["io.modelcontextprotocol/protocolVersion"] : undefined;
    const { sessionId } = this.#inner;
    const version = typeof revision === "string" ? revision : this.#protocolVersion;
    return {
      ...(sessionId !== undefined && { "mcp-session-id": sessionId }),
      ...(version !== undefined && { "mcp-protocol-version": version }),
      ...(typeof revision === "string" && { "mcp-method": "tools/call", "mcp-name": String(name) }),
    };
  }

  setProtocolVersion(version: string): void {
    this.#protocolVersion = version;
    this.#inner.setProtocolVersion(version);
  }

  async close(): Promise<void> {
    if (this.#inner.sessionId !== undefined) await this.#inner.terminateSession().catch(() => {});
    await this.#inner.close();
  }

  #hidden(message: WireMessage): WireMessage {
    if (this.#redact === undefined) return message;
    const text = JSON.stringify(message);
    const hidden = this.#redact(text);
    return hidden === text ? message : JSON.parse(hidden);
  }

  #receive(message: JSONRPCMessage): void {
    const checked = this.#filter.check(message as unknown as WireMessage);
    if (checked === undefined) return;
    if (checked.method === undefined) this.#streams.answered(checked.id);
    const hidden = this.#hidden(checked);
    if (!this.#filter.own.deliver(hidden)) this.onmessage?.(hidden as unknown as JSONRPCMessage);
  }
}

function cancelledBy(message: JSONRPCMessage): MessageId | undefined {
  const { params } = message as WireMessage;
  return isJsonObject(params) ? (params["requestId"] as MessageId) : undefined;
}

interface RequestStream {
  readonly controller: AbortController;
  timer?: NodeJS.Timeout;
}

/**
 * The streams on which requests are answered. They end with their requests: the SDK alone would read them,
 * and open them again, for as long as the server keeps them open.
 */
class RequestStreams {
  readonly #open = new Map<MessageId, RequestStream>();

  /** Returns the signal that ends the stream of a request. */
  begin(id: MessageId, outer: AbortSignal | undefined): AbortSignal {
    const controller = new AbortController();
    this.#open.set(id, { controller });
    const abort = (): void => this.abort(id);
    if (outer?.aborted) abort();
    else outer?.addEventListener("abort", abort, { once: true });
    return controller.signal;
  }

  /** Records that a request was sent. The stream of one that has already been answered has ended. */
  sent(id: MessageId | undefined): void {
    if (id !== undefined && this.#open.get(id)?.timer !== undefined) this.ended(id);
  }

  /** If the server ends the stream by itself, the connection can be reused. */
  answered(id: MessageId | undefined): void {
    const stream = id === undefined ? undefined : this.#open.get(id);
    if (stream !== undefined) stream.timer ??= setTimeout(() => this.abort(id), ANSWERED_MS).unref();
  }

  ended(id: MessageId | undefined): void {
    if (id === undefined) return;
    clearTimeout(this.#open.get(id)?.timer);
    this.#open.delete(id);
  }

  abort(id: MessageId | undefined): void {
    const stream = id === undefined ? undefined : this.#open.get(id);
    this.ended(id);
    stream?.controller.abort();
  }

  close(): void {
    for (const id of [...this.#open.keys()]) this.abort(id);
  }
}

/** Milliseconds within which a server must name the endpoint for messages. */
const ENDPOINT_MS = 20_000;

/** Maximum length of the endpoint's URL. */
const MAX_ENDPOINT = 8_192;

/** The parts of an {@link SseTransport}. */
interface SseTransportOptions {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>> | undefined;
  readonly filter: WireFilter;
  /** Opens the stream, whose checked messages are given to {@link SseTransport.receive}. */
  readonly listen: FetchLike;
  readonly post: FetchLike;
}

/**
 * Speaks the transport that MCP had before 2025-03-26, "HTTP with SSE": one stream of events with all
 * messages of the server, whose first event names the endpoint to which messages are sent. A stream that
 * ended is not opened again, since the server would make another session for it: {@link onclose} is called.
 */
export class SseTransport implements UncheckedTransport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: NonNullable<UncheckedTransport["onmessage"]>;
  readonly sessionId = undefined;
  readonly #options: SseTransportOptions;
  readonly #closing = new AbortController();
  readonly #endpoint = Promise.withResolvers<URL>();
  #isClosed = false;

  constructor(options: SseTransportOptions) {
    this.#options = options;
    this.#endpoint.promise.catch(() => {});
  }

  /**
   * Uses the endpoint that the server named. It must have the origin of the stream; only the first one
   * counts.
   */
  useEndpoint(address: string): void {
    const { url } = this.#options;
    const endpoint = address.length <= MAX_ENDPOINT ? URL.parse(address, url) : null;
    if (endpoint?.origin === url.origin && endpoint.username === "" && endpoint.password === "")
      this.#endpoint.resolve(endpoint);
    else
      this.#endpoint.reject(
        new UnsentError("the server's endpoint for messages has another origin than its stream"),
      );
  }

  /** @throws {UnsentError} if the stream cannot be opened, or the server names no usable address. */
  async start(): Promise<void> {
    const { url, headers, listen } = this.#options;
    const opened = async (): Promise<unknown> => {
      const response = await listen(url, {
        method: "GET",
        headers: { ...headers, accept: "text/event-stream" },
        signal: this.#closing.signal,
      });
      const isStream = response.ok && response.headers.get("content-type")?.startsWith("text/event-stream");
      if (!isStream || response.body === null)
        throw new UnsentError(`the server has no stream of events: HTTP ${response.status}`);
      void this.#untilEnd(response.body);
      return await this.#endpoint.promise;
    };
    try {
      if ((await race(opened(), { timeoutMs: ENDPOINT_MS })) === "timeout")
        throw new UnsentError("the server did not name its endpoint for messages in time");
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  /** A message of the stream, which was checked. */
  receive(message: WireMessage): void {
    if (!this.#isClosed) this.onmessage?.(message as unknown as JSONRPCMessage);
  }

  async #untilEnd(stream: NonNullable<Response["body"]>): Promise<void> {
    try {
      for await (const _ of stream) if (this.#isClosed) return;
    } catch (error) {
      if (!this.#isClosed)
        this.#options.filter.problem(error instanceof Error ? error.message : String(error));
    } finally {
      if (!this.#isClosed) this.#options.filter.lose("its stream of events ended");
      await this.close();
    }
  }

  async send(message: JSONRPCMessage | JSONRPCMessage[]): Promise<void> {
    if (this.#isClosed) throw new UnsentError("the stream of events has ended");
    const { headers, post } = this.#options;
    const { ok, status } = await post(await this.#endpoint.promise, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify(message),
      signal: this.#closing.signal,
    });
    if (!ok) throw new Error(`the server answered with HTTP ${status}`);
  }

  setProtocolVersion(): void {}

  /** The session ends with its stream. */
  async terminateSession(): Promise<void> {}

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#endpoint.reject(new UnsentError("the connection is closed"));
    this.#closing.abort();
    this.onclose?.();
  }
}
