import { isUtf8 } from "node:buffer";
import { type Contact, EgressError, NO_TRAFFIC, type Traffic } from "../../../../egress/egress-error.ts";
import { FRAME, FRAME_HEADER_BYTES } from "../../../../remote-protocol/frames/frame.ts";
import type { OutgoingFrame } from "../../../../remote-protocol/frames/outbox.ts";
import type { ProcessStamp } from "../../../../remote-protocol/http.ts";
import type { CallExchange, ExchangeEnd } from "../exchange.ts";
import type { AnswerStream } from "../stream.ts";

/** What a call needs for its exchange. */
export interface FramedCall {
  readonly body: string;
  readonly bodyBytes: number;
  /** The maximum size of a frame of its response. */
  readonly maxBytes: number;
  /** Receives chunks and log lines, if they are wanted. */
  readonly stream: AnswerStream | undefined;
  /** Called when the executor says that the call waits for its turn. */
  readonly onWait: () => void;
  /** Called once, and not after `cancel`. */
  readonly settle: (end: ExchangeEnd) => void;
}

/** The connection of an exchange. */
interface FrameExchangeHost {
  readonly contact: Contact;
  readonly process: ProcessStamp | undefined;
  /** Called when the exchange ends before its response. */
  cancelled(exchange: FrameExchange, isWritten: boolean): void;
}

/** A call on a framed connection, and its response. */
export class FrameExchange implements CallExchange, OutgoingFrame {
  readonly type: number = FRAME.call;
  readonly id: number;
  readonly prefix: Buffer;
  /** The body; empty once it is not needed any more. */
  text: string;
  readonly textBytes: number;
  readonly #host: FrameExchangeHost;
  /** `undefined` when it is over: an exchange that was not sent can stay in the outbox for longer than its call. */
  #call: FramedCall | undefined;
  #bytesUp = 0;
  #bytesDown = 0;

  constructor(host: FrameExchangeHost, id: number, prefix: Buffer, call: FramedCall) {
    this.#host = host;
    this.id = id;
    this.prefix = prefix;
    this.text = call.body;
    this.textBytes = call.bodyBytes;
    // The outbox frees the body when it is written.
    this.#call = { ...call, body: "" };
  }

  get isDropped(): boolean {
    return this.#call === undefined;
  }

  onWritten(bytes: number): void {
    this.#bytesUp = bytes;
    this.text = "";
  }

  /** The network traffic so far. */
  get traffic(): Traffic {
    if (!this.isWritten) return NO_TRAFFIC;
    return { contacted: [this.#host.contact], bytesUp: this.#bytesUp, bytesDown: this.#bytesDown };
  }

  /** Whether a byte of the call may have been sent. */
  get isWritten(): boolean {
    return this.#bytesUp > 0;
  }

  /**
   * Ends the exchange: notifies the executor that the response is not needed, unless the call was not sent
   * yet.
   */
  cancel(): void {
    if (this.#end() !== undefined) this.#host.cancelled(this, this.isWritten);
  }

  /** Checks the length of a frame of the response; returns `false` if the exchange has failed because of it. */
  admit(bytes: number): boolean {
    const { maxBytes = 0 } = this.#call ?? {};
    this.#bytesDown += FRAME_HEADER_BYTES;
    if (bytes <= maxBytes) return true;
    this.#break(new EgressError("body_too_large", `the body is larger than ${maxBytes} bytes`));
    return false;
  }

  /** Takes a frame of the response; returns whether it is the last one. */
  take(type: number, payload: Buffer): boolean {
    this.#bytesDown += payload.length;
    if (type === FRAME.waiting) {
      this.#call?.onWait();
      return false;
    }
    const isProblem = type === FRAME.problem;
    const isLast = isProblem || type === FRAME.execution;
    const body = isLast ? payload.subarray(isProblem ? 4 : 1) : payload;
    if ((isLast && body.length === payload.length) || !isUtf8(body)) {
      this.#break(new EgressError("response_invalid", "a frame is not valid"));
      return false;
    }
    if (!isLast) {
      this.#stream(type === FRAME.output ? "output" : "log", body.toString());
      return false;
    }
    const retryAfterMs = isProblem ? payload.readUInt32BE(0) : 0;
    const status = isProblem ? 0 : 200;
    this.#settle({
      reply: { status, text: body.toString(), retryAfterMs, process: this.#host.process },
    });
    return true;
  }

  /** Ends the exchange with a problem that the executor has not sent for this call alone. */
  refuse(problem: string): void {
    this.#settle({ reply: { status: 0, text: problem, retryAfterMs: 0, process: undefined } });
  }

  /** Ends the exchange because the connection is lost. */
  lose(message: string): void {
    this.#settle({ failure: new EgressError("connection_lost", message, this.traffic) });
  }

  #stream(event: "output" | "log", data: string): void {
    try {
      this.#call?.stream?.take({ event, data });
    } catch (error) {
      const why = "the stream cannot be read";
      this.#break(error instanceof EgressError ? error : new EgressError("response_invalid", why));
    }
  }

  #break({ code, message }: EgressError): void {
    const { traffic } = this;
    const call = this.#call;
    this.cancel();
    call?.settle({ failure: new EgressError(code, message, traffic) });
  }

  #settle(end: ExchangeEnd): void {
    this.#end()?.settle(end);
  }

  /** Returns the call if the exchange was not over, and forgets it. */
  #end(): FramedCall | undefined {
    const call = this.#call;
    this.#call = undefined;
    this.text = "";
    return call;
  }
}
