import { isUtf8 } from "node:buffer";
import type { Dispatcher, Pool } from "undici";
import type { ConnectionAware } from "../../../egress/connections/pool.ts";
import { EgressError, type Traffic } from "../../../egress/egress-error.ts";
import { egressErrorOf } from "../../../egress/failure.ts";
import type { ResponseHeaders } from "../../../egress/request.ts";
import { ResponseReader } from "../../../egress/response-reader.ts";
import { STREAM_MEDIA_TYPE } from "../../../remote-protocol/http.ts";
import type { AnswerStream } from "./stream.ts";

/** A request as it is sent. */
export interface ExecutorRequest {
  readonly method: "GET" | "POST";
  readonly path: string;
  /** Names and values in turn. */
  readonly headers: readonly string[];
  readonly body?: string;
}

/** An answer that arrived whole. */
export interface ExecutorReply {
  /** Of a stream's last event: 200 for an execution, 0 for a problem. */
  readonly status: number;
  readonly text: string;
  /** What the header `retry-after` says, in ms. */
  readonly retryAfterMs: number;
}

/** How an exchange ended. */
export type ExchangeEnd = { readonly reply: ExecutorReply } | { readonly failure: EgressError };

/** One request to an executor and its answer, without streams and within bounds. Whoever starts it ends it in time. */
export class ExecutorExchange {
  readonly #request: ExecutorRequest;
  readonly #authority: string;
  readonly #stream: AnswerStream | undefined;
  readonly #settle: (end: ExchangeEnd) => void;
  readonly #reader: ResponseReader;
  readonly #tap: StreamTap | undefined;

  /**
   * @param address.url What receipts call the other side.
   * @param maxBytes The largest body, or event of a stream.
   * @param stream Takes the answer if it comes as a stream.
   * @param settle Called once, and not after {@link cancel}.
   */
  constructor(
    { url, authority }: { readonly url: string; readonly authority: string },
    request: ExecutorRequest,
    maxBytes: number,
    stream: AnswerStream | undefined,
    settle: (end: ExchangeEnd) => void,
  ) {
    this.#request = request;
    this.#authority = authority;
    this.#stream = stream;
    this.#settle = settle;
    const limits = { timeoutMs: 0, bodyBytes: maxBytes };
    this.#reader = new ResponseReader(url, limits, Number.POSITIVE_INFINITY, (error) => this.#end(error));
    if (stream !== undefined) this.#tap = new StreamTap(this.#reader, stream, (error) => this.#break(error));
  }

  /** Sends the request over one of the pool's connections. */
  start(pool: Pool): void {
    const { method, path, headers, body } = this.#request;
    const options = { method, path, headers: headers as string[], body: body ?? null };
    pool.dispatch(options, this.#tap ?? this.#reader);
  }

  /** What went over the network so far. */
  get traffic(): Traffic {
    const { contact, bytesDown } = this.#reader;
    if (contact === undefined) return { contacted: [], bytesUp: 0, bytesDown };
    const bytesUp = requestSize(this.#request, this.#authority);
    return { contacted: [contact], bytesUp, bytesDown: bytesDown + (this.#tap?.bytesDown ?? 0) };
  }

  /** Ends the exchange: its connection at once, or its request before a byte of it is sent. */
  cancel(): void {
    this.#reader.cancel();
  }

  /** Ends it because of what the other side sent. */
  #break(error: EgressError): void {
    this.cancel();
    this.#end(error);
  }

  #end(error?: unknown): void {
    const end = error === undefined ? this.#read() : egressErrorOf(error, this.traffic);
    this.#settle(end instanceof EgressError ? { failure: end } : { reply: end });
  }

  #read(): ExecutorReply | EgressError {
    const { status, headers, body, codings } = this.#reader;
    if (codings.length > 0) return this.#invalid("the body is encoded, which nobody asked for");
    if (this.#tap?.isStreaming) {
      const last = this.#stream?.last;
      if (last === undefined) return this.#invalid("the stream ended without an execution");
      const status = last.event === "execution" ? 200 : 0;
      return { status, text: last.data, retryAfterMs: 0 };
    }
    if (!isUtf8(body)) return this.#invalid("the body is no valid UTF-8");
    return { status, text: body.toString(), retryAfterMs: retryAfter(headers) };
  }

  #invalid(message: string): EgressError {
    return new EgressError("response_invalid", message, this.traffic);
  }
}

/** Leads the body of a stream to its reader, and everything else to the reader of whole bodies. */
class StreamTap implements Dispatcher.DispatchHandler, ConnectionAware {
  isStreaming = false;
  bytesDown = 0;
  readonly #reader: ResponseReader;
  readonly #stream: AnswerStream;
  readonly #break: (error: EgressError) => void;

  constructor(reader: ResponseReader, stream: AnswerStream, onBroken: (error: EgressError) => void) {
    this.#reader = reader;
    this.#stream = stream;
    this.#break = onBroken;
  }

  get connection(): ConnectionAware["connection"] {
    return this.#reader.connection;
  }

  set connection(connection: ConnectionAware["connection"]) {
    this.#reader.connection = connection;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#reader.onRequestStart(controller);
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: ResponseHeaders): void {
    this.#reader.onResponseStart(controller, status, headers);
    const type = String(headers["content-type"] ?? "").split(";", 1)[0];
    this.isStreaming = status === 200 && type?.trim().toLowerCase() === STREAM_MEDIA_TYPE;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.isStreaming) {
      this.#reader.onResponseData(controller, chunk);
      return;
    }
    this.bytesDown += chunk.length;
    try {
      this.#stream.push(chunk);
    } catch (error) {
      const why = "the stream cannot be read";
      this.#break(error instanceof EgressError ? error : new EgressError("response_invalid", why));
    }
  }

  onResponseEnd(): void {
    this.#reader.onResponseEnd();
  }

  onResponseError(controller: Dispatcher.DispatchController | null, error: Error): void {
    this.#reader.onResponseError(controller, error);
  }
}

/** Seconds only: a date (RFC 9110, section 10.2.3) depends on two clocks. */
function retryAfter({ "retry-after": value }: ResponseHeaders): number {
  return typeof value === "string" && /^[0-9]{1,9}$/.test(value) ? Number(value) * 1_000 : 0;
}

/** Bytes of a request: its first line, `host`, its own fields and those of the connection, and its body. */
function requestSize({ method, path, headers, body = "" }: ExecutorRequest, authority: string): number {
  const fields = headers.reduce((bytes, text) => bytes + text.length + 2, 0);
  return method.length + path.length + authority.length + fields + 70 + Buffer.byteLength(body);
}
