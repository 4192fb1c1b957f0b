import type { IncomingMessage, ServerResponse } from "node:http";
import { readTraceHeaders } from "../../base/trace-headers.ts";
import { BodyError, readDispatchRequest } from "../../remote-protocol/bodies.ts";
import { REPLAYED_HEADER } from "../../remote-protocol/http.ts";
import type { DispatchRequest } from "../../remote-protocol/messages.ts";
import { RemoteProblem } from "../../remote-protocol/problems.ts";
import { matchesContentDigest } from "../../remote-protocol/signatures/content-digest.ts";
import type { CallEvent, CallWaiter } from "../once/dispatched-call.ts";
import type { Dispatcher } from "../once/dispatcher.ts";
import type { AnswerStream } from "./answer-stream.ts";
import type { Sender } from "./authentication.ts";
import { decodeBody } from "./request-body.ts";
import { respondExecution } from "./respond.ts";

/** How a request is refused. */
export interface Refusals {
  /**
   * Checks once more, when the body has arrived, whether the sender may dispatch calls: credentials may have been reloaded.
   *
   * @throws {RemoteProblem | RouteRefusal} otherwise.
   */
  admit(): void;
  /**
   * Responds with a problem, and tells the operator.
   *
   * @param body The request's body, if it was read.
   */
  fail(thrown: unknown, body?: DispatchRequest): void;
  /** Only tells the operator of a problem. */
  tell(problem: RemoteProblem, body?: DispatchRequest): void;
}

interface RequestParts {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The response, if the client accepts a stream. */
  readonly stream: AnswerStream | undefined;
  readonly refusals: Refusals;
}

/** A dispatch request with checked headers, and its response. It uses no promises. */
export class DispatchExchange implements CallWaiter {
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
    if (stream !== undefined) this.onEvent = (event: CallEvent): void => stream.tell(event);
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
    if (this.#stream?.hasBegun) this.#stream.tellWait();
    // HTTP/1.0 has no interim responses (RFC 9110, section 15.2).
    else if (this.#request.httpVersion !== "1.0") this.#response.writeProcessing();
  }

  answered(execution: string): void {
    this.#leave = undefined;
    if (this.#stream !== undefined) this.#stream.end(execution);
    else respondExecution(this.#response, execution, this.#isReplayed);
  }

  refused(problem: RemoteProblem): void {
    this.#leave = undefined;
    if (this.#stream?.hasBegun) {
      this.#refusals.tell(problem, this.#body);
      this.#stream.fail(problem);
    } else this.#refusals.fail(problem, this.#body);
  }

  #read(body: Buffer): DispatchRequest {
    const digest = this.#request.headers["content-digest"];
    if ((this.#sender.isSigned || digest !== undefined) && !matchesContentDigest(String(digest), body)) {
      throw new RemoteProblem(
        "altered",
        "the body does not match the content-digest header, which must have a sha-256 digest",
      );
    }
    try {
      return readDispatchRequest(decodeBody(body));
    } catch (error) {
      if (error instanceof BodyError) throw new RemoteProblem("bad_request", error.message);
      throw error;
    }
  }
}
