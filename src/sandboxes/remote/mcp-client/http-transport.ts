import type {
  JSONRPCMessage,
  StreamableHTTPClientTransport,
  Transport,
  TransportSendOptions,
} from "@modelcontextprotocol/client";
import type { WireFilter } from "./wire-filter.ts";
import type { WireMessage } from "./wire-message.ts";

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
  readonly #redact: (text: string) => string;

  /** @param redact Returns a text without the tokens. Default: there are none. */
  constructor(
    inner: StreamableHTTPClientTransport,
    filter: WireFilter,
    redact: (text: string) => string = (text) => text,
  ) {
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
    this.#filter.sending(message, options?.requestSignal);
    try {
      const onRequestStreamEnd = (): void => {
        options?.onRequestStreamEnd?.();
        const answer = this.#filter.ended(message);
        if (answer !== undefined) this.onmessage?.(answer as unknown as JSONRPCMessage);
      };
      await this.#inner.send(message, { ...options, onRequestStreamEnd } as InnerOptions);
    } catch (error) {
      this.#filter.unsent(message);
      throw error;
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
    const text = JSON.stringify(message);
    const hidden = this.#redact(text);
    return hidden === text ? message : JSON.parse(hidden);
  }

  #receive(message: JSONRPCMessage): void {
    const checked = this.#filter.check(message as unknown as WireMessage);
    if (checked !== undefined) this.onmessage?.(this.#hidden(checked) as unknown as JSONRPCMessage);
  }
}
