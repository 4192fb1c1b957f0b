import { randomBytes } from "node:crypto";
import type { Socket } from "node:net";
import type { TraceHeaders } from "../../../../base/trace-headers.ts";
import type { Contact } from "../../../../egress/egress-error.ts";
import {
  FRAME,
  FrameError,
  type Hello,
  MAX_CALL_ID,
  readHello,
  writeCallHead,
} from "../../../../remote-protocol/frames/frame.ts";
import { FrameReader, type FrameSink } from "../../../../remote-protocol/frames/frame-reader.ts";
import { type FrameSealer, Outbox } from "../../../../remote-protocol/frames/outbox.ts";
import type { ProcessStamp } from "../../../../remote-protocol/http.ts";
import { remoteProblem } from "../../../../remote-protocol/problems.ts";
import { type FramedCall, FrameExchange } from "./frame-exchange.ts";

/** A framed connection to open. */
export interface FrameConnectionOptions {
  readonly contact: Contact;
  /** Seals the frames, if the connection is signed. */
  readonly sealer: FrameSealer | undefined;
  /** Called once, when the executor accepts calls on the connection. */
  readonly onReady: () => void;
  /** Called once, when no further calls may be sent on the connection. */
  readonly onRetired: () => void;
}

/** How often the connection is checked, in ms: an executor that has not answered to a ping by then is not used. */
const CHECK_MS = 2_000;
/** The largest frame that is about the connection, in bytes. */
const MAX_CONTROL_BYTES = 16_384;
const PING_BYTES = 8;
/** The share of the executor's time for idle connections after which this end closes it. */
const IDLE_SHARE = 0.75;

const NOT_TAKEN: string = remoteProblem(
  "draining",
  "the executor accepts no further calls on this connection",
).text;

/** A framed connection to an executor, which is not trusted. */
export class FrameConnection implements FrameSink {
  readonly contact: Contact;
  readonly #socket: Socket;
  readonly #options: FrameConnectionOptions;
  readonly #reader: FrameReader = new FrameReader(this);
  readonly #outbox: Outbox;
  readonly #calls = new Map<number, FrameExchange>();
  readonly #timer: NodeJS.Timeout;
  #hello: Hello | undefined;
  /** The executor's clock minus that of `performance.now()`. It lags by the time of the message, so deadlines are early. */
  #clockOffset = 0;
  #lastId = 0;
  #isRetired = false;
  /** The payload of the ping that has not been answered. */
  #openPing: Buffer | undefined;
  #usedAt: number = performance.now();

  constructor(socket: Socket, options: FrameConnectionOptions) {
    this.#socket = socket;
    this.contact = options.contact;
    this.#options = options;
    this.#outbox = new Outbox(socket, options.sealer);
    socket.setNoDelay(true);
    // The clock of the calls keeps the process alive while one runs.
    socket.unref();
    // The pool counts bytes with this listener, and with it no data would flow.
    socket.removeAllListeners("readable");
    socket.on("data", (chunk: Buffer) => this.#read(chunk));
    socket.resume();
    for (const event of ["end", "error", "close"]) socket.on(event, () => this.destroy());
    this.#timer = setInterval(() => this.#check(), CHECK_MS).unref();
  }

  /** The executor's process, and what its clock shows at least; `undefined` until it has named itself. */
  get process(): ProcessStamp | undefined {
    if (this.#hello === undefined) return undefined;
    const time = Math.floor(performance.now() + this.#clockOffset) - CHECK_MS;
    return { id: this.#hello.process, time: Math.max(time, Math.floor(this.#hello.now)) };
  }

  /** Whether a call with a body of this size can be sent now. */
  hasRoomFor(bodyBytes: number): boolean {
    const hello = this.#hello;
    if (hello === undefined || this.#isRetired) return false;
    return this.#calls.size < hello.calls && bodyBytes <= hello.bodyBytes && this.#lastId < MAX_CALL_ID;
  }

  /**
   * Sends a call. It must {@link hasRoomFor} it.
   *
   * @param waitMs Milliseconds after which the caller stops waiting. The call does not start later.
   */
  dispatch(call: FramedCall, waitMs: number, trace: TraceHeaders | undefined): FrameExchange {
    const now = performance.now();
    this.#usedAt = now;
    const head = writeCallHead({
      isStreamed: call.stream !== undefined,
      deadline: now + this.#clockOffset + waitMs,
      expiresAt: Date.now() + waitMs,
      trace,
    });
    const exchange = new FrameExchange(this, ++this.#lastId, head, call);
    this.#calls.set(exchange.id, exchange);
    this.#outbox.send(exchange);
    return exchange;
  }

  cancelled(exchange: FrameExchange, isWritten: boolean): void {
    if (isWritten) this.#outbox.send({ type: FRAME.cancel, id: exchange.id, text: "", textBytes: 0 });
    this.#ended(exchange);
  }

  /** Ends the connection at once. Calls on it are lost. */
  destroy(): void {
    this.#retire();
    clearInterval(this.#timer);
    this.#reader.close();
    this.#outbox.close();
    const calls = [...this.#calls.values()];
    this.#calls.clear();
    this.#socket.destroy();
    for (const exchange of calls) exchange.lose("the framed connection was closed");
  }

  admit(type: number, id: number, length: number): boolean {
    if (id === 0) {
      if (length > MAX_CONTROL_BYTES) throw new FrameError("a frame is too long");
      return true;
    }
    const isOfCall = (type >= FRAME.execution && type <= FRAME.log) || type === FRAME.waiting;
    if (!isOfCall || this.#hello === undefined || id > this.#lastId) {
      throw new FrameError("a frame is about no call");
    }
    // Of a call that was cancelled, frames may still arrive.
    const exchange = this.#calls.get(id);
    if (exchange?.isWritten === false) throw new FrameError("a frame is about a call that was not sent");
    return exchange?.admit(length) ?? false;
  }

  reserve(): boolean {
    return true;
  }

  release(): void {}

  take(type: number, id: number, payload: Buffer): void {
    if (id !== 0) {
      const exchange = this.#calls.get(id);
      if (exchange?.take(type, payload)) this.#ended(exchange);
    } else if (this.#hello === undefined) {
      if (type !== FRAME.hello) throw new FrameError("the first frame is of another type");
      this.#hello = readHello(payload);
      this.#clockOffset = this.#hello.now - performance.now();
      this.#options.onReady();
    } else if (type === FRAME.pong) this.#takePong(payload);
    else if (type === FRAME.goAway) this.#takeGoAway(payload);
    else throw new FrameError("a frame has an unknown type");
  }

  #read(chunk: Buffer): void {
    try {
      this.#reader.push(chunk);
    } catch {
      // A call of which the response was not valid may have run, as if the connection had been lost.
      this.destroy();
    }
  }

  #takePong(payload: Buffer): void {
    if (payload.length !== PING_BYTES * 2) throw new FrameError("a frame has a wrong length");
    // The executor can answer it only after it has read everything before it.
    if (this.#openPing?.equals(payload.subarray(0, PING_BYTES)) !== true)
      throw new FrameError("a pong answers no ping");
    this.#openPing = undefined;
    this.#clockOffset =
      Math.min(payload.readDoubleBE(PING_BYTES), Number.MAX_SAFE_INTEGER) - performance.now();
    if (!Number.isFinite(this.#clockOffset)) throw new FrameError("the executor's clock is not a number");
  }

  #takeGoAway(payload: Buffer): void {
    if (payload.length < 4) throw new FrameError("a frame has a wrong length");
    const lastId = payload.readUInt32BE(0);
    this.#retire();
    for (const exchange of [...this.#calls.values()]) {
      if (exchange.id <= lastId) continue;
      this.#calls.delete(exchange.id);
      if (exchange.isWritten) exchange.refuse(NOT_TAKEN);
      else exchange.lose("the executor accepts no further calls on this connection");
    }
    this.#endIfDone();
  }

  #check(): void {
    const hello = this.#hello;
    const isIdle = this.#calls.size === 0;
    if (hello === undefined || this.#openPing !== undefined) {
      // The executor may be stopped, or the connection lost without a sign. Its calls may still be answered.
      this.#retire();
      this.#endIfDone();
      return;
    }
    if (!isIdle) {
      this.#openPing = randomBytes(PING_BYTES);
      this.#outbox.send({ type: FRAME.ping, id: 0, prefix: this.#openPing, text: "", textBytes: 0 });
    } else if (performance.now() - this.#usedAt > hello.idleMs * IDLE_SHARE) this.destroy();
  }

  #ended(exchange: FrameExchange): void {
    this.#calls.delete(exchange.id);
    this.#endIfDone();
  }

  #retire(): void {
    if (this.#isRetired) return;
    this.#isRetired = true;
    this.#options.onRetired();
  }

  #endIfDone(): void {
    if (!this.#isRetired || this.#calls.size > 0) return;
    this.#outbox.flush();
    this.destroy();
  }
}
