import type { Dispatcher } from "undici";
import { CollectedBytes } from "../base/collected-bytes.ts";
import type { ConnectionAware } from "./connections.ts";
import { contentCodings } from "./content-coding.ts";
import { type Contact, EgressError } from "./egress-error.ts";
import type { EgressLimits, ResponseHeaders } from "./request.ts";

/** Collects a body that arrives in chunks, up to a budget. */
export class BoundedBody {
  readonly #maxBytes: number;
  readonly #body = new CollectedBytes();

  /** @param maxBytes The budget, in bytes. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Adds a chunk, and returns whether it fits. A chunk that exceeds the budget is truncated. */
  add(chunk: Buffer): boolean {
    const left = this.#maxBytes - this.#body.length;
    const isFitting = chunk.length <= left;
    this.#body.add(isFitting ? chunk : chunk.subarray(0, left));
    return isFitting;
  }

  /** The bytes received so far. */
  get bytes(): Buffer {
    return this.#body.read();
  }
}

/** How many bytes a compressed body may be longer than its limit: a short body can grow when compressed. */
const CODING_OVERHEAD = 1_024;

/**
 * How often received bytes are counted, in ms, while a request with a budget runs. Most are counted as they arrive, but
 * not those of HTTP/2 and TLS that contain nothing of a response.
 */
const COUNT_INTERVAL_MS = 20;

/** Maximum number of characters of a reason phrase. */
const MAX_STATUS_TEXT = 256;

/** How many informational responses may come before the final one. */
const MAX_INTERIM_RESPONSES = 1_000;

/** The reason given to undici when a response is aborted. It is never reported. */
const UNWANTED = new Error("the response is no longer wanted");

/** Reads the response to one request as it arrives, without streams and within its limits. */
export class ResponseReader implements Dispatcher.DispatchHandler, ConnectionAware {
  connection: ConnectionAware["connection"];
  status = 0;
  /** The reason phrase; empty with HTTP/2, which has no reason phrases. */
  statusText = "";
  headers: ResponseHeaders = {};
  /** The content codings of the body, the outermost one first. */
  codings: readonly string[] = [];
  /** The connection of the request; set as soon as a byte may have been sent. */
  contact: Contact | undefined;
  /** Whether the body was truncated. */
  isCut = false;
  /** Called with each response 102 (RFC 2518, section 10.1), which says that the answer takes longer. */
  onProcessing: (() => void) | undefined;
  readonly #origin: string;
  readonly #limits: EgressLimits;
  /** Bytes that may be received, with all framing. */
  readonly #budget: number;
  readonly #settle: (error: unknown) => void;
  #body: BoundedBody | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  /** The connection's count when the request started. */
  #bytesBefore = 0;
  /** The final count; `undefined` while the response arrives. */
  #bytesDown: number | undefined;
  #counting: NodeJS.Timeout | undefined;
  #interimResponses = 0;
  #isOver = false;

  /**
   * @param budget Bytes that may be received.
   * @param settle Called once, with `undefined` if the response is complete. Not called after {@link cancel}.
   */
  constructor(origin: string, limits: EgressLimits, budget: number, settle: (error: unknown) => void) {
    this.#origin = origin;
    this.#limits = limits;
    this.#budget = budget;
    this.#settle = settle;
  }

  /** The body as it was received, not decoded. */
  get body(): Buffer {
    return this.#body?.bytes ?? Buffer.alloc(0);
  }

  /** Bytes received so far, with all framing. */
  get bytesDown(): number {
    return this.#bytesDown ?? (this.contact === undefined ? 0 : this.#countNow());
  }

  #countNow(): number {
    return (this.connection?.bytesDown ?? 0) - this.#bytesBefore;
  }

  /** Aborts the request: closes its connection, or drops the request if it was not sent yet. */
  cancel(): void {
    this.#leave();
    this.#controller?.abort(UNWANTED);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#isOver) {
      controller.abort(UNWANTED);
      return;
    }
    // undici sends a request again if an HTTP/2 server refuses it (RFC 9113, section 8.7). The server's claim that it
    // did not process the first one cannot be verified, so the request fails.
    if (this.contact !== undefined) {
      this.#finish(new EgressError("connection_lost", "the server refused the request"));
      controller.abort(UNWANTED);
      return;
    }
    this.#controller = controller;
    this.contact = Object.freeze({ origin: this.#origin, address: this.connection?.address ?? "" });
    this.#bytesBefore = this.connection?.bytesDown ?? 0;
    if (this.#budget === Number.POSITIVE_INFINITY) return;
    if (this.connection !== undefined) this.connection.onBytes = this.#count;
    this.#counting = setInterval(this.#count, COUNT_INTERVAL_MS).unref();
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: ResponseHeaders,
    statusText = "",
  ): void {
    if (this.#isOver) return;
    // Informational responses (RFC 9110, section 15.2) come before the final one.
    if (status < 200) {
      if (++this.#interimResponses > MAX_INTERIM_RESPONSES)
        this.#end(new EgressError("response_invalid", "there are too many informational responses"));
      else if (status === 102) this.onProcessing?.();
      return;
    }
    this.status = status;
    this.statusText = statusText.slice(0, MAX_STATUS_TEXT);
    this.headers = headers;
    this.codings = contentCodings(headers["content-encoding"]);
    this.#body = new BoundedBody(this.#bodyBytes() + (this.codings.length > 0 ? CODING_OVERHEAD : 0));
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isOver) return;
    if (this.#body?.add(chunk)) {
      this.charge(controller, chunk.length);
      return;
    }
    if (this.#isFailure) {
      this.isCut = true;
      this.#end(undefined);
    } else {
      this.#end(new EgressError("body_too_large", `the body is larger than ${this.#limits.bodyBytes} bytes`));
    }
  }

  /** Reserves memory for what was read, and pauses reading until there is enough. */
  charge(controller: Dispatcher.DispatchController, bytes: number): void {
    if (this.#limits.room?.take(bytes) === false) void this.#awaitRoom(controller, bytes);
  }

  async #awaitRoom(controller: Dispatcher.DispatchController, bytes: number): Promise<void> {
    controller.pause();
    const hasRoom = await this.#limits.room?.wait(bytes);
    if (this.#isOver) return;
    if (hasRoom) controller.resume();
    else
      this.#end(
        new EgressError("body_too_large", "the body is larger than what a session may have in flight"),
      );
  }

  onResponseEnd(): void {
    this.#finish(undefined);
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    this.#finish(error);
  }

  get #isFailure(): boolean {
    const isSuccess = this.status >= 200 && this.status < 300;
    return !isSuccess && this.#limits.failureBodyBytes !== undefined;
  }

  #bodyBytes(): number {
    const { bodyBytes, failureBodyBytes = bodyBytes } = this.#limits;
    return this.#isFailure ? failureBodyBytes : bodyBytes;
  }

  /** Ends the request if it has received more than its budget. */
  readonly #count = (): void => {
    if (this.#isOver || this.#countNow() <= this.#budget) return;
    this.#end(overBudget());
  };

  /** Settles before the response is complete, and closes the connection. */
  #end(error: EgressError | undefined): void {
    if (this.#isOver) return;
    this.#finish(error);
    this.#controller?.abort(UNWANTED);
  }

  #finish(error: unknown): void {
    if (this.#isOver) return;
    const isExceeded = error === undefined && this.contact !== undefined && this.#countNow() > this.#budget;
    this.#leave();
    this.#settle(isExceeded ? overBudget() : error);
  }

  /** Stops counting: later bytes of the connection belong to other requests. */
  #leave(): void {
    if (this.#isOver) return;
    this.#bytesDown = this.bytesDown;
    this.#isOver = true;
    clearInterval(this.#counting);
    if (this.connection?.onBytes === this.#count) this.connection.onBytes = undefined;
  }
}

function overBudget(): EgressError {
  return new EgressError("budget_exceeded", "the response exceeds the network budget");
}
