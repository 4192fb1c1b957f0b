import type { Socket } from "node:net";
import type { FairBudget } from "../../base/fair-budget.ts";
import type { Sender } from "../../http/authentication.ts";
import { UnreadAnswers } from "../../http/respond.ts";
import {
  CALL_HEAD_BYTES,
  FRAME,
  FrameError,
  type Hello,
  MAX_CALL_ID,
} from "../../remote-protocol/frames/frame.ts";
import {
  FrameReader,
  type FrameSealCheck,
  type FrameSink,
} from "../../remote-protocol/frames/frame-reader.ts";
import { Outbox, type OutgoingFrame } from "../../remote-protocol/frames/outbox.ts";
import { RequestRefusal, remoteProblem } from "../../remote-protocol/problems.ts";
import type { DispatchRequest } from "../../remote-protocol/shapes.ts";
import { overloaded } from "../once/admission.ts";
import type { Dispatcher } from "../once/dispatcher.ts";
import { FrameCall, type FrameCallHost, problemFrame, sized } from "./frame-call.ts";

/** The services of the executor for a framed connection. */
export interface FrameServices {
  readonly dispatcher: Dispatcher;
  /** The memory for bodies, which HTTP requests share. */
  readonly bodies: FairBudget;
  /** The memory for what clients have not read, which HTTP responses share. */
  readonly unread: FairBudget;
  /** The bounds of the connection, without the clock. */
  readonly bounds: Omit<Hello, "now">;
  /** Milliseconds in which a frame must arrive, and in which the client must read what was written. */
  readonly requestMs: number;
  /** @throws {RequestRefusal} if the sender may not dispatch calls any more. */
  checkSender(): void;
  /** Reports a problem to the operator. */
  reportProblem(thrown: unknown, body?: DispatchRequest): void;
}

/** Bytes charged for a call in addition to its body. */
const CALL_BYTES = 1_024;
/**
 * Buffered bytes that are not charged: most frames are smaller, and are sent before the turn of the event
 * loop ends.
 */
const FREE_BYTES = 65_536;
/** Bytes buffered for a slow reader. Beyond this, chunks and log lines are dropped, and no calls are read. */
const MAX_WAITING_BYTES = 1_024 * 1_024;
const PING_BYTES = 8;
/** Milliseconds that a client has to read the last frame. */
const LAST_FRAME_MS = 1_000;

/** A framed connection of one client. */
export class FrameConnection implements FrameSink, FrameCallHost {
  readonly dispatcher: Dispatcher;
  readonly sender: Sender;
  readonly #socket: Socket;
  readonly #services: FrameServices;
  readonly #reader: FrameReader;
  readonly #outbox: Outbox;
  readonly #unread: UnreadAnswers;
  readonly #calls = new Map<number, FrameCall>();
  /** Calls of the current chunk, which are submitted when it has been read: one that it also cancels does not start. */
  #arrived: FrameCall[] = [];
  #lastId = 0;
  #isGoingAway = false;
  #isOver = false;
  #frameSince: number | undefined;
  #idleSince: number | undefined = performance.now();

  /** @param seals Verifies the client's frames, if the connection is signed. */
  constructor(socket: Socket, sender: Sender, services: FrameServices, seals: FrameSealCheck | undefined) {
    this.#socket = socket;
    this.sender = sender;
    this.dispatcher = services.dispatcher;
    this.#services = services;
    this.#reader = new FrameReader(this, seals);
    this.#outbox = new Outbox(socket);
    this.#unread = new UnreadAnswers(services.unread, sender.caller);
    this.#outbox.onDrain = () => {
      this.#settleUnread();
      socket.resume();
    };
    socket.setNoDelay(true).setKeepAlive(true, services.bounds.idleMs);
    socket.on("data", (chunk: Buffer) => this.#read(chunk));
    // A client that closes its half no longer waits for its calls.
    socket.on("end", () => this.destroy());
    socket.on("error", () => this.destroy());
    socket.on("close", () => this.destroy());
    this.send({
      type: FRAME.hello,
      id: 0,
      ...sized(JSON.stringify({ now: performance.now(), ...services.bounds })),
    });
  }

  /** Whether the client reads too slowly. */
  get isCongested(): boolean {
    return this.#outbox.bytes > MAX_WAITING_BYTES;
  }

  /** Whether something still has to be sent to the client. */
  get isBusy(): boolean {
    return this.#calls.size > 0 || this.#outbox.bytes > 0;
  }

  checkSender(): void {
    this.#services.checkSender();
  }

  admit(type: number, id: number, length: number): boolean {
    // Reading can end the connection: the client may not read the answers.
    if (this.#isOver) return false;
    if (type !== FRAME.call) {
      if (type !== FRAME.cancel && type !== FRAME.ping) throw new FrameError("a frame has an unknown type");
      if (length !== (type === FRAME.ping ? PING_BYTES : 0))
        throw new FrameError("a frame has a wrong length");
      if (type === FRAME.cancel && id > this.#lastId && !this.#isGoingAway)
        throw new FrameError("an unknown call was cancelled");
      return true;
    }
    const { bodyBytes, calls } = this.#services.bounds;
    if (id <= this.#lastId || id > MAX_CALL_ID) throw new FrameError("the ids of calls must increase");
    if (length > bodyBytes + CALL_HEAD_BYTES) throw new FrameError(`a call may have ${bodyBytes} bytes`);
    // The client knows from the frame with which the connection goes away that this call is not run.
    if (this.#isGoingAway) return false;
    if (this.#calls.size >= calls) throw new FrameError(`there may be ${calls} calls at once`);
    this.#lastId = id;
    return true;
  }

  reserve(bytes: number): boolean {
    if (this.#services.bodies.acquire(this.sender.caller, bytes)) return true;
    this.#refuse(overloaded());
    return false;
  }

  release(bytes: number): void {
    this.#services.bodies.release(this.sender.caller, bytes);
  }

  take(type: number, id: number, payload: Buffer): void {
    this.#frameSince = undefined;
    if (type === FRAME.call) this.#takeCall(id, payload);
    else if (type === FRAME.ping) this.#pong(payload);
    else {
      const call = this.#calls.get(id);
      if (call === undefined) return;
      this.ended(call);
      call.leave();
    }
  }

  send(frame: OutgoingFrame): void {
    if (this.#isOver) return;
    this.#outbox.send(frame);
    // The client can ask for a lost answer again.
    if (!this.#settleUnread()) this.destroy();
  }

  /** Charges the bytes that the client has not read. Returns `false` if they exceed the budget. */
  #settleUnread(): boolean {
    const bytes = this.#outbox.memoryBytes;
    return this.#unread.settle(bytes > FREE_BYTES ? bytes : 0);
  }

  reportProblem(thrown: unknown, body: DispatchRequest | undefined): void {
    this.#services.reportProblem(thrown, body);
  }

  ended(call: FrameCall): void {
    if (!this.#calls.delete(call.id)) return;
    this.release(call.reservedBytes);
    if (this.#calls.size === 0) this.#idleSince = performance.now();
  }

  /** Stops accepting calls. Accepted calls are still answered. */
  goAway(problem?: RequestRefusal): void {
    if (this.#isGoingAway) return;
    this.#isGoingAway = true;
    const prefix = Buffer.alloc(4);
    prefix.writeUInt32BE(this.#lastId);
    const text = problem?.text ?? "";
    this.send({ type: FRAME.goAway, id: 0, prefix, ...sized(text) });
  }

  /** Closes the connection if something takes too long. Called every second. */
  checkTimes(now: number): void {
    const { requestMs, bounds } = this.#services;
    const waitsSince = Math.min(this.#frameSince ?? now, this.#outbox.blockedSince ?? now);
    if (now - waitsSince >= requestMs) this.destroy();
    else if (this.#isRevoked()) {
      this.goAway();
      if (!this.isBusy) this.end();
    } else if (this.#idleSince !== undefined && now - this.#idleSince >= bounds.idleMs) {
      if (this.#isGoingAway) this.end();
      else this.goAway();
    }
  }

  /** Ends the connection after flushing what was sent. */
  end(): void {
    if (this.#isOver) return;
    this.#outbox.flush();
    this.#isOver = true;
    this.#leaveAll();
    this.#socket.end();
    const force = setTimeout(() => this.#socket.destroy(), LAST_FRAME_MS).unref();
    this.#socket.once("close", () => clearTimeout(force));
  }

  /** Closes the connection immediately, and cancels its calls. */
  destroy(): void {
    this.#isOver = true;
    this.#leaveAll();
    this.#socket.destroy();
    this.#unread.settle(0);
  }

  #isRevoked(): boolean {
    try {
      this.checkSender();
      return false;
    } catch (thrown) {
      // Other refusals may be temporary.
      return thrown instanceof RequestRefusal && thrown.code === "unauthenticated";
    }
  }

  #read(chunk: Buffer): void {
    if (this.#isOver) return;
    try {
      this.#reader.push(chunk);
    } catch (thrown) {
      this.#violated(thrown);
      return;
    }
    this.#frameSince = this.#reader.isInFrame ? (this.#frameSince ?? performance.now()) : undefined;
    const arrived = this.#arrived;
    this.#arrived = [];
    for (const call of arrived) call.submit();
    if (this.isCongested) this.#socket.pause();
  }

  #violated(thrown: unknown): void {
    const isViolation = thrown instanceof FrameError;
    const problem = isViolation ? remoteProblem("bad_request", thrown.message) : thrown;
    this.#services.reportProblem(problem);
    const message = isViolation ? thrown.message : "the executor failed unexpectedly";
    this.#isGoingAway = false;
    this.goAway(remoteProblem(isViolation ? "bad_request" : "internal_error", message));
    this.end();
  }

  #takeCall(id: number, payload: Buffer): void {
    const reservedBytes = payload.length + CALL_BYTES;
    if (!this.#services.bodies.acquire(this.sender.caller, reservedBytes)) {
      this.#refuse(overloaded());
      return;
    }
    let call: FrameCall;
    try {
      call = new FrameCall(this, id, payload, reservedBytes);
    } catch (thrown) {
      this.release(reservedBytes);
      throw thrown;
    }
    if (call.isOver) {
      this.release(reservedBytes);
      return;
    }
    this.#idleSince = undefined;
    this.#calls.set(id, call);
    this.#arrived.push(call);
  }

  /** Refuses an arriving call before its body is read. */
  #refuse(problem: RequestRefusal): void {
    this.#services.reportProblem(problem);
    this.send(problemFrame(this.#lastId, problem));
  }

  #pong(payload: Buffer): void {
    const prefix = Buffer.alloc(PING_BYTES * 2);
    payload.copy(prefix);
    prefix.writeDoubleBE(performance.now(), PING_BYTES);
    this.send({ type: FRAME.pong, id: 0, prefix, text: "", textBytes: 0 });
  }

  #leaveAll(): void {
    this.#arrived = [];
    this.#reader.close();
    this.#outbox.close();
    for (const call of [...this.#calls.values()]) {
      this.ended(call);
      call.leave();
    }
  }
}
