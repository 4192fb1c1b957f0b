import { isUtf8 } from "node:buffer";
import type { Dispatcher, Pool } from "undici";
import type { ConnectionAware } from "../../../egress/connections.ts";
import { EgressError, egressErrorOf, type Traffic } from "../../../egress/egress-error.ts";
import type { EgressLimits, ResponseHeaders } from "../../../egress/request.ts";
import { ResponseReader } from "../../../egress/response-reader.ts";
import {
  EXECUTOR_HEADER,
  type ProcessStamp,
  readProcessStamp,
  STREAM_MEDIA_TYPE,
} from "../../../remote-protocol/http.ts";
import type { AnswerStream } from "./stream.ts";

/** A request to an executor. */
export interface ExecutorRequest {
  readonly method: "GET" | "POST";
  readonly path: string;
  /** Names and values, alternating. */
  readonly headers: readonly string[];
  readonly body?: string;
}

/** A complete response. */
export interface ExecutorReply {
  /** For a stream, the status of its last event: 200 for an execution, 0 for a problem. */
  readonly status: number;
  readonly text: string;
  /** The header `retry-after`, in ms; 0 if it is missing. */
  readonly retryAfterMs: number;
  /** The process that answered, as it says. */
  readonly process: ProcessStamp | undefined;
}

/** A request for a call and its response. */
export interface CallExchange {
  /** The network traffic so far. `contacted` is empty if no byte can have been sent. */
  readonly traffic: Traffic;
  /** Ends it. It is not settled afterwards. */
  cancel(): void;
}

/** How an exchange ended. */
export type ExchangeEnd = { readonly reply: ExecutorReply } | { readonly failure: EgressError };

/** What an exchange calls. */
export interface ExchangeListeners {
  /** Receives the response if it is a stream. */
  readonly stream: AnswerStream | undefined;
  /** Called when the executor says that the call waits for its turn. */
  readonly onWait: (() => void) | undefined;
  /** Called once, and not after {@link ExecutorExchange.cancel}. */
  readonly settle: (end: ExchangeEnd) => void;
}

/** One request to an executor and its response, of bounded size. It has no timeout: the caller must cancel it. */
export class ExecutorExchange implements CallExchange {
  readonly #request: ExecutorRequest;
  readonly #authority: string;
  readonly #stream: AnswerStream | undefined;
  readonly #settle: (end: ExchangeEnd) => void;
  readonly #reader: ResponseReader;
  readonly #tap: StreamTap | undefined;

  /**
   * @param address.url The executor's address in receipts.
   * @param bounds The maximum size of the body, or of one event of a stream, and where it has to have room.
   */
  constructor(
    { url, authority }: { readonly url: string; readonly authority: string },
    request: ExecutorRequest,
    bounds: Pick<EgressLimits, "bodyBytes" | "room">,
    { stream, onWait, settle }: ExchangeListeners,
  ) {
    this.#request = request;
    this.#authority = authority;
    this.#stream = stream;
    this.#settle = settle;
    const limits = { timeoutMs: 0, ...bounds };
    this.#reader = new ResponseReader(url, limits, Number.POSITIVE_INFINITY, (error) => this.#end(error));
    this.#reader.onProcessing = onWait;
    if (stream !== undefined) this.#tap = new StreamTap(this.#reader, stream, (error) => this.#break(error));
  }

  /** Sends the request over one of the pool's connections. */
  start(pool: Pool): void {
    const { method, path, headers, body } = this.#request;
    const options = { method, path, headers: headers as string[], body: body ?? null };
    pool.dispatch(options, this.#tap ?? this.#reader);
  }

  /** The network traffic so far. */
  get traffic(): Traffic {
    const { contact, bytesDown } = this.#reader;
    if (contact === undefined) return { contacted: [], bytesUp: 0, bytesDown };
    return { contacted: [contact], bytesUp: requestSize(this.#request, this.#authority), bytesDown };
  }

  /** Aborts the request: closes its connection, or drops the request if it was not sent yet. */
  cancel(): void {
    this.#reader.cancel();
  }

  /** Fails the exchange because the response is invalid. */
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
    const process = readProcessStamp(headers[EXECUTOR_HEADER]);
    if (codings.length > 0) return this.#invalid("the body has a content encoding that was not requested");
    if (this.#tap?.isStreaming) {
      const last = this.#stream?.last;
      if (last === undefined) return this.#invalid("the stream ended without an execution");
      const status = last.event === "execution" ? 200 : 0;
      return { status, text: last.data, retryAfterMs: 0, process };
    }
    if (!isUtf8(body)) return this.#invalid("the body is not valid UTF-8");
    return {
      status,
      text: body.toString(),
      retryAfterMs: retryAfter(headers),
      process,
    };
  }

  #invalid(message: string): EgressError {
    return new EgressError("response_invalid", message, this.traffic);
  }
}

/** Passes the body of a stream to `AnswerStream`, and everything else to `ResponseReader`. */
class StreamTap implements Dispatcher.DispatchHandler, ConnectionAware {
  isStreaming = false;
  /** The length of the longest event so far: shorter ones have been passed on by then. */
  #charged = 0;
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
    this.isStreaming = status === 200 && mediaType(headers) === STREAM_MEDIA_TYPE;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.isStreaming) {
      this.#reader.onResponseData(controller, chunk);
      return;
    }
    try {
      this.#stream.push(chunk);
      const more = this.#stream.pendingLength - this.#charged;
      if (more <= 0) return;
      this.#charged += more;
      this.#reader.charge(controller, more);
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

function mediaType({ "content-type": type = "" }: ResponseHeaders): string | undefined {
  return String(type).split(";", 1)[0]?.trim().toLowerCase();
}

/** Parses `retry-after` in seconds. Dates (RFC 9110, section 10.2.3) are ignored: they depend on two clocks. */
function retryAfter({ "retry-after": value }: ResponseHeaders): number {
  return typeof value === "string" && /^[0-9]{1,9}$/.test(value) ? Number(value) * 1_000 : 0;
}

/** Bytes of a request: the request line, `host`, its own fields and those of the connection, and the body. */
function requestSize({ method, path, headers, body = "" }: ExecutorRequest, authority: string): number {
  const fields = headers.reduce((bytes, text) => bytes + text.length + 2, 0);
  return method.length + path.length + authority.length + fields + 70 + Buffer.byteLength(body);
}
