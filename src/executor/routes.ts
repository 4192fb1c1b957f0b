import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { readTraceHeaders } from "../base/trace-headers.ts";
import { ACCESS } from "../http/access.ts";
import type { Sender } from "../http/authentication.ts";
import { mayUse } from "../http/clients.ts";
import type { Door, RouteGroup } from "../http/door.ts";
import type { Metric } from "../http/metrics.ts";
import { bodyLength, checkDigest, decodeBody, type Incoming, receive } from "../http/request.ts";
import { bodyOf, limitUnread, respondExecution, respondJson, UnreadAnswers } from "../http/respond.ts";
import type { Principal } from "../policy/principal.ts";
import { BodyError, readDispatchRequest } from "../remote-protocol/bodies.ts";
import { writeStreamEvent } from "../remote-protocol/event-stream.ts";
import {
  DISPATCH_PATH,
  JSON_MEDIA_TYPE,
  REPLAYED_HEADER,
  STREAM_MEDIA_TYPE,
  TOOLS_PATH,
} from "../remote-protocol/http.ts";
import { type RequestRefusal, remoteProblem } from "../remote-protocol/problems.ts";
import type { DispatchRequest } from "../remote-protocol/shapes.ts";
import { FrameUpgrades } from "./frames/frame-upgrades.ts";
import type { ExecutorLimits } from "./limits.ts";
import { overloaded } from "./once/admission.ts";
import type { CallEvent, CallWaiter } from "./once/dispatched-call.ts";
import type { Dispatcher } from "./once/dispatcher.ts";

/** What {@link ExecutorRoutes} are made of. */
interface ExecutorRoutesParts {
  readonly dispatcher: Dispatcher;
  readonly limits: ExecutorLimits;
  /** Whether connections can be framed. */
  readonly frames: boolean;
  /**
   * Default: calls are always accepted.
   *
   * @throws {RequestRefusal} if no calls are accepted now.
   */
  readonly refuseIfPaused?: (() => void) | undefined;
}

/** The routes of the remote protocol. */
export class ExecutorRoutes implements RouteGroup {
  readonly #parts: ExecutorRoutesParts;
  #frames: FrameUpgrades | undefined;

  constructor(parts: ExecutorRoutesParts) {
    this.#parts = parts;
  }

  register(door: Door): void {
    const { frames, ...parts } = this.#parts;
    if (frames)
      this.#frames = new FrameUpgrades({ ...parts, door, admit: (sender) => this.#admitCall(sender, door) });
    door.addExact(DISPATCH_PATH, (incoming) => {
      this.#dispatch(incoming, door).catch((thrown) => door.fail(incoming, thrown));
    });
    door.addExact(TOOLS_PATH, (incoming) => {
      this.#answerTools(incoming, door).catch((thrown) => door.fail(incoming, thrown));
    });
  }

  get upgrades(): FrameUpgrades | undefined {
    return this.#frames;
  }

  get unreadiness(): string | undefined {
    return this.#parts.dispatcher.unreadiness;
  }

  readMetrics(): readonly Metric[] {
    return this.#parts.dispatcher.readMetrics();
  }

  async drain(maxMs: number): Promise<void> {
    const { dispatcher } = this.#parts;
    const cancel = setTimeout(() => dispatcher.cancelAll(), maxMs);
    const drained = dispatcher.drain();
    this.#frames?.goAway();
    await drained;
    clearTimeout(cancel);
  }

  /** @throws {RequestRefusal} unless a sender may dispatch calls now. */
  #admitCall(sender: Sender, door: Door): void {
    door.admit(ACCESS.dispatch, sender);
    this.#parts.refuseIfPaused?.();
  }

  async #dispatch(incoming: Incoming, door: Door): Promise<void> {
    const { request, response } = incoming;
    const { authentication } = door;
    const sender = await door.senderOf(request, "POST");
    this.#admitCall(sender, door);
    const isStream = wantsStream(request.headers);
    const bytes = bodyLength(request, door.bodies.maxBytes);
    const { caller } = sender;
    const unread = new UnreadAnswers(door.unread, caller);
    limitUnread(response, unread);
    const stream = isStream ? new AnswerStream(response, unread) : undefined;
    const refusals: Refusals = {
      admit: () => {
        if (door.authentication !== authentication) door.authentication.refuseUnlessCurrent(sender);
        this.#admitCall(sender, door);
      },
      fail: (thrown, body) => door.fail(incoming, thrown, body),
      report: (problem, body) => void door.report(request, problem, body),
    };
    const { dispatcher } = this.#parts;
    const exchange = new DispatchExchange(dispatcher, { request, response, stream, refusals }, sender);
    response.on("close", () => exchange.closed());
    const refuse = (): void => refusals.fail(overloaded());
    receive({ request, response, bytes, bodies: door.bodies.budget, caller, refuse }, (body) => {
      afterNextPoll(() => {
        if (!isClosed(request)) exchange.take(body);
      });
    });
  }

  /** Those who only read see the tools of everyone. */
  async #answerTools({ request, response }: Incoming, door: Door): Promise<void> {
    const sender = await door.senderOf(request, "GET");
    door.admit(ACCESS.tools, sender);
    limitUnread(response, new UnreadAnswers(door.unread, sender.caller));
    respondJson(response, this.#writeTools(sender.principal, !mayDispatch(sender, door)));
  }

  /** @param listsAll Whether the list has tools that the principal can never call, too. */
  #writeTools(principal: Principal | undefined, listsAll: boolean): string {
    const { registry, policy } = this.#parts.dispatcher.context;
    const mayRun = (name: string): boolean => {
      const subject = registry.find(name)?.subject;
      return subject === undefined || (policy.mayAllow?.(subject, principal) ?? true);
    };
    return JSON.stringify({ tools: registry.definitions().filter(({ name }) => listsAll || mayRun(name)) });
  }
}

function mayDispatch(sender: Sender, { clients }: Door): boolean {
  return clients === undefined || mayUse(ACCESS.dispatch, clients.of(sender));
}

/** Bytes to buffer for a slow reader. Further chunks and log lines are dropped, but never the execution. */
const MAX_WAITING_BYTES = 256 * 1_024;

/** Responds with a stream: the chunks and log lines of a call, and finally its execution. */
export class AnswerStream {
  readonly #response: ServerResponse;
  readonly #unread: UnreadAnswers;

  /** @param unread The budget for what the client has not read. */
  constructor(response: ServerResponse, unread: UnreadAnswers) {
    this.#response = response;
    this.#unread = unread;
  }

  /** Whether the response has begun. After that, problems must be sent as events. */
  get hasBegun(): boolean {
    return this.#response.headersSent;
  }

  /** Sends a chunk or a log line. */
  sendEvent(event: CallEvent): void {
    const waiting = this.#response.writableLength;
    if (waiting > MAX_WAITING_BYTES) return;
    const isOutput = event.type === "tool.output";
    const data = isOutput ? { chunk: event.chunk } : { level: event.level, message: event.message };
    const text = writeStreamEvent(isOutput ? "output" : "log", JSON.stringify(data));
    if (!this.#unread.settle(waiting + text.length)) return;
    this.#begin();
    this.#response.write(text);
  }

  /** Reports that the call waits, or has waited, so that the client does not time out. */
  sendWait(): void {
    this.#response.write(writeStreamEvent("waiting", "{}"));
  }

  /** @param execution The execution as JSON text. */
  end(execution: string): void {
    this.#begin();
    this.#response.end(bodyOf(writeStreamEvent("execution", execution)));
  }

  fail(problem: RequestRefusal): void {
    this.#response.end(writeStreamEvent("problem", problem.text));
  }

  #begin(): void {
    if (this.hasBegun) return;
    this.#response.writeHead(200, {
      "content-type": STREAM_MEDIA_TYPE,
      "cache-control": "no-store",
      // Otherwise, proxies would buffer the stream.
      "x-accel-buffering": "no",
    });
  }
}

/** How a request is refused. */
interface Refusals {
  /**
   * Checks once more, when the body has arrived, whether the sender may dispatch calls: credentials may have been reloaded.
   *
   * @throws {RequestRefusal} otherwise.
   */
  admit(): void;
  /**
   * Responds with a problem, and reports it to the operator.
   *
   * @param body The request's body, if it was read.
   */
  fail(thrown: unknown, body?: DispatchRequest): void;
  /** Only reports a problem to the operator. */
  report(problem: RequestRefusal, body?: DispatchRequest): void;
}

interface RequestParts {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The response, if the client accepts a stream. */
  readonly stream: AnswerStream | undefined;
  readonly refusals: Refusals;
}

/** A dispatch request with checked headers, and its response. It uses no promises. */
class DispatchExchange implements CallWaiter {
  readonly onEvent: CallWaiter["onEvent"];
  readonly #dispatcher: Dispatcher;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #sender: Sender;
  readonly #refusals: Refusals;
  readonly #stream: AnswerStream | undefined;
  #body: DispatchRequest | undefined;
  #isReplayed = false;
  #leave: (() => void) | undefined;

  constructor(dispatcher: Dispatcher, { request, response, stream, refusals }: RequestParts, sender: Sender) {
    this.#dispatcher = dispatcher;
    this.#request = request;
    this.#response = response;
    this.#sender = sender;
    this.#refusals = refusals;
    this.#stream = stream;
    if (stream !== undefined) this.onEvent = (event: CallEvent): void => stream.sendEvent(event);
  }

  /** Submits the call in the body. */
  take(body: Buffer): void {
    try {
      this.#refusals.admit();
      this.#body = this.#read(body);
      const trace = readTraceHeaders(this.#request.headers);
      const origin = trace === undefined ? this.#sender : { ...this.#sender, trace };
      this.#leave = this.#dispatcher.submit(this.#body, origin, this);
    } catch (thrown) {
      this.#refusals.fail(thrown, this.#body);
    }
  }

  /** Must be called when the response has been sent or the connection is closed. */
  closed(): void {
    this.#leave?.();
  }

  replayed(): void {
    this.#isReplayed = true;
    if (this.#stream !== undefined) this.#response.setHeader(REPLAYED_HEADER, "true");
  }

  waits(): void {
    if (this.#stream?.hasBegun) this.#stream.sendWait();
    // HTTP/1.0 has no interim responses (RFC 9110, section 15.2).
    else if (this.#request.httpVersion !== "1.0") this.#response.writeProcessing();
  }

  answered(execution: string): void {
    this.#leave = undefined;
    if (this.#stream !== undefined) this.#stream.end(execution);
    else respondExecution(this.#response, execution, this.#isReplayed);
  }

  refused(problem: RequestRefusal): void {
    this.#leave = undefined;
    if (this.#stream?.hasBegun) {
      this.#refusals.report(problem, this.#body);
      this.#stream.fail(problem);
    } else this.#refusals.fail(problem, this.#body);
  }

  #read(body: Buffer): DispatchRequest {
    checkDigest(
      this.#request,
      this.#sender,
      body,
      "the body does not match the content-digest header, which must have a sha-256 digest",
    );
    try {
      return readDispatchRequest(decodeBody(body));
    } catch (error) {
      if (error instanceof BodyError) throw remoteProblem("bad_request", error.message);
      throw error;
    }
  }
}

/**
 * Calls a function after the process has polled its connections once more. If it was stopped or busy, the client may
 * have stopped waiting and closed the connection behind the request: its call must not run.
 */
function afterNextPoll(run: () => void): void {
  // The first callback runs after the current poll, the second one after the next.
  setImmediate(() => setImmediate(run));
}

function isClosed({ socket }: IncomingMessage): boolean {
  return socket.readableEnded || socket.destroyed;
}

/**
 * Checks the media types of a request, and returns whether the client accepts a stream.
 *
 * @throws {RequestRefusal} `unsupported_media_type` or `not_acceptable`.
 */
function wantsStream({
  accept = "*/*",
  "content-type": type = "",
  "content-encoding": encoding,
}: IncomingHttpHeaders): boolean {
  if (type !== JSON_MEDIA_TYPE && type.split(";", 1)[0]?.trim().toLowerCase() !== JSON_MEDIA_TYPE) {
    throw remoteProblem("unsupported_media_type", `the content-type header must be ${JSON_MEDIA_TYPE}`);
  }
  if (encoding !== undefined) {
    throw remoteProblem("unsupported_media_type", "the body must not have a content-encoding");
  }
  if (accept === JSON_MEDIA_TYPE) return false;
  const wanted = accept.toLowerCase();
  if (wanted.includes(STREAM_MEDIA_TYPE)) return true;
  if (/\*\/\*|application\/(?:json|\*)/.test(wanted)) return false;
  throw remoteProblem(
    "not_acceptable",
    `the accept header must be ${JSON_MEDIA_TYPE} or ${STREAM_MEDIA_TYPE}`,
  );
}
