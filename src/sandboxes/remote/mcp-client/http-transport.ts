import type {
  JSONRPCMessage,
  StreamableHTTPClientTransport,
  Transport,
  TransportSendOptions,
} from "@modelcontextprotocol/client";
import { isJsonObject } from "../../../json/value.ts";
import type { WireFilter } from "./wire-filter.ts";
import type { MessageId, WireMessage } from "./wire-message.ts";

/** Milliseconds for a server to end the stream of a request that it has answered. */
const ANSWERED_MS = 1_000;

/** The SDK's own declarations do not agree under `exactOptionalPropertyTypes`. */
type InnerOptions = Parameters<StreamableHTTPClientTransport["send"]>[1];

/** Lets a filter check what the SDK's transport for HTTP sends and receives, and hides the tokens that a server repeats. */
export class HttpTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: <T extends JSONRPCMessage>(message: T) => void;
  readonly hasPerRequestStream = true;
  readonly #inner: StreamableHTTPClientTransport;
  readonly #filter: WireFilter;
  readonly #redact: ((text: string) => string) | undefined;
  readonly #streams = new RequestStreams();

  /** @param redact Returns a text without the tokens. Default: there are none. */
  constructor(inner: StreamableHTTPClientTransport, filter: WireFilter, redact?: (text: string) => string) {
    this.#redact = redact;
    this.#inner = inner;
    this.#filter = filter;
    inner.onmessage = (message) => this.#receive(message);
    inner.onclose = () => this.onclose?.();
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
        if (answer !== undefined) this.onmessage?.(answer as unknown as JSONRPCMessage);
      };
      const requestSignal = isRequest ? this.#streams.begin(id, options?.requestSignal) : undefined;
      const more = { onRequestStreamEnd, ...(requestSignal && { requestSignal }) };
      await this.#inner.send(message, { ...options, ...more } as InnerOptions);
      this.#streams.sent(id);
    } catch (error) {
      this.#streams.ended(id);
      this.#filter.unsent(message);
      // It has the body of the response.
      if (error instanceof Error && this.#redact) error.message = this.#redact(error.message);
      throw error;
    } finally {
      if (method === "notifications/cancelled") this.#streams.abort(cancelledBy(message));
    }
  }

  setProtocolVersion(version: string): void {
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
    this.onmessage?.(this.#hidden(checked) as unknown as JSONRPCMessage);
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

  /** The request was sent. One that is answered already has no stream. */
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
}
