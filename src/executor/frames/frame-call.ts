import type { Sender } from "../../http/authentication.ts";
import { refusalOf } from "../../http/refusals.ts";
import { decodeBody } from "../../http/request.ts";
import { BodyError, readDispatchRequest } from "../../remote-protocol/bodies.ts";
import { type CallFrame, FRAME, readCallFrame } from "../../remote-protocol/frames/frame.ts";
import type { OutgoingFrame } from "../../remote-protocol/frames/outbox.ts";
import { type RequestRefusal, remoteProblem } from "../../remote-protocol/problems.ts";
import type { DispatchRequest } from "../../remote-protocol/shapes.ts";
import { CLOCK_SKEW_S } from "../../remote-protocol/signatures/verifier.ts";
import type { CallEvent, CallWaiter } from "../once/dispatched-call.ts";
import type { Dispatcher } from "../once/dispatcher.ts";

/** The connection of a call. */
export interface FrameCallHost {
  readonly dispatcher: Dispatcher;
  readonly sender: Sender;
  /** Whether chunks and log lines must be dropped, because the client reads too slowly. */
  readonly isCongested: boolean;
  /** @throws {RequestRefusal} if the sender may not dispatch calls any more. */
  checkSender(): void;
  send(frame: OutgoingFrame): void;
  /** Called once, when the call has been answered. */
  ended(call: FrameCall): void;
  /** Reports a problem to the operator. */
  reportProblem(thrown: unknown, body: DispatchRequest | undefined): void;
}

/** Milliseconds by which the clocks of both ends may drift apart between two pings. */
const DRIFT_MS = 1_000;

/**
 * A call that took longer to arrive, in ms, may have waited while this process was stopped or busy: the client may have
 * cancelled it behind the frame.
 */
const FRESH_MS = 20;

const FIRST: Buffer = Buffer.from([0]);
const REPLAYED: Buffer = Buffer.from([1]);

/** A call that arrived in a frame. */
export class FrameCall implements CallWaiter {
  readonly id: number;
  /** Bytes reserved for its body. */
  readonly reservedBytes: number;
  readonly onEvent: CallWaiter["onEvent"];
  readonly #host: FrameCallHost;
  readonly #frame: Omit<CallFrame, "body">;
  #body: DispatchRequest | undefined;
  #isReplayed = false;
  #isOver = false;
  #leave: (() => void) | undefined;

  /** @throws {FrameError} if the payload is malformed. */
  constructor(host: FrameCallHost, id: number, payload: Buffer, reservedBytes: number) {
    this.id = id;
    this.reservedBytes = reservedBytes;
    this.#host = host;
    const { body, ...frame } = readCallFrame(payload);
    this.#frame = frame;
    if (frame.isStreamed) this.onEvent = (event) => this.#sendEvent(event);
    this.#guarded(() => {
      host.checkSender();
      this.#body = readBody(body);
    });
  }

  /** Whether it has been answered, or the client no longer waits for an answer. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Submits the call, immediately or after the connection was polled again. */
  submit(): void {
    this.#guarded(() => {
      const { timeoutMs } = this.#known;
      const isFresh = timeoutMs !== undefined && timeoutMs - this.#leftMs() < FRESH_MS;
      if (isFresh) this.#submit();
      // The first callback runs after the current poll, the second one after the next.
      else setImmediate(() => setImmediate(() => this.#guarded(() => this.#submit())));
    });
  }

  /** Ends the call without an answer: the client no longer waits for one. */
  leave(): void {
    this.#isOver = true;
    this.#leave?.();
  }

  replayed(): void {
    this.#isReplayed = true;
  }

  waits(): void {
    if (!this.#isOver) this.#host.send({ type: FRAME.waiting, id: this.id, text: "", textBytes: 0 });
  }

  answered(execution: string): void {
    const prefix = this.#isReplayed ? REPLAYED : FIRST;
    this.#end({ type: FRAME.execution, id: this.id, prefix, ...sized(execution) });
  }

  refused(problem: RequestRefusal): void {
    if (!this.#isOver) this.#fail(problem);
  }

  #fail(thrown: unknown): void {
    const problem = refusalOf(thrown);
    this.#host.reportProblem(thrown, this.#body);
    this.#end(problemFrame(this.id, problem));
  }

  #end(frame: OutgoingFrame): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#leave = undefined;
    this.#host.send(frame);
    this.#host.ended(this);
  }

  #sendEvent(event: CallEvent): void {
    if (this.#isOver || this.#host.isCongested) return;
    const isOutput = event.type === "tool.output";
    const data = isOutput ? { chunk: event.chunk } : { level: event.level, message: event.message };
    const type = isOutput ? FRAME.output : FRAME.log;
    this.#host.send({ type, id: this.id, ...sized(JSON.stringify(data)) });
  }

  #guarded(action: () => void): void {
    if (this.#isOver) return;
    try {
      action();
    } catch (thrown) {
      this.#fail(thrown);
    }
  }

  get #known(): DispatchRequest {
    if (this.#body === undefined) throw remoteProblem("bad_request", "the body was not read");
    return this.#body;
  }

  #leftMs(): number {
    return this.#frame.deadline - performance.now();
  }

  #submit(): void {
    const { dispatcher, sender } = this.#host;
    const { trace, expiresAt } = this.#frame;
    const request = this.#known;
    const { timeoutMs = Number.POSITIVE_INFINITY } = request;
    const leftMs = this.#leftMs();
    // A connection that lasts is signed once. What is delayed there must not run either.
    if (leftMs <= 0 || (sender.isSigned && Date.now() > expiresAt + CLOCK_SKEW_S * 1_000)) {
      throw remoteProblem("deadline_passed", "the caller's timeout expired before the call started");
    }
    if (leftMs > timeoutMs + DRIFT_MS) {
      throw remoteProblem("expired", "the call's deadline is later than its timeout");
    }
    const origin = trace === undefined ? sender : { ...sender, trace };
    const leave = dispatcher.submit({ ...request, timeoutMs: Math.min(timeoutMs, leftMs) }, origin, this);
    if (!this.#isOver) this.#leave = leave;
  }
}

/** Returns the frame that refuses a call. */
export function problemFrame(id: number, problem: RequestRefusal): OutgoingFrame {
  const prefix = Buffer.alloc(4);
  prefix.writeUInt32BE(Number(problem.headers["retry-after"] ?? 0) * 1_000);
  return { type: FRAME.problem, id, prefix, ...sized(problem.text) };
}

function readBody(body: Buffer): DispatchRequest {
  try {
    return readDispatchRequest(decodeBody(body));
  } catch (error) {
    if (error instanceof BodyError) throw remoteProblem("bad_request", error.message);
    throw error;
  }
}

/** Returns a text with its size. */
export function sized(text: string): Pick<OutgoingFrame, "text" | "textBytes"> {
  return { text, textBytes: Buffer.byteLength(text) };
}
