import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { FairBudget } from "../../base/fair-budget.ts";
import { JSON_MEDIA_TYPE, STREAM_MEDIA_TYPE } from "../../remote-protocol/http.ts";
import { RemoteProblem } from "../../remote-protocol/problems.ts";
import { overloaded } from "../load/admission.ts";
import type { ExecutorLimits } from "../load/limits.ts";
import { UnreadAnswers } from "../load/unread-answers.ts";
import type { Dispatcher } from "../once/dispatcher.ts";
import { AnswerStream } from "./answer-stream.ts";
import type { Sender } from "./authentication.ts";
import { DispatchExchange, type Refusals } from "./dispatch-exchange.ts";
import { bodyLength, readBody } from "./request-body.ts";
import { limitUnread } from "./respond.ts";

/** Handles `POST /v1/dispatch`. */
export class DispatchRoute {
  readonly #dispatcher: Dispatcher;
  readonly #maxBodyBytes: number;
  readonly #bodies: FairBudget;
  readonly #unread: FairBudget;

  /**
   * @param bodies The memory for bodies.
   * @param unread The memory for what clients have not read.
   */
  constructor(dispatcher: Dispatcher, { bodyBytes }: ExecutorLimits, bodies: FairBudget, unread: FairBudget) {
    this.#unread = unread;
    this.#dispatcher = dispatcher;
    this.#maxBodyBytes = bodyBytes;
    this.#bodies = bodies;
  }

  /** Responds to a request, now or later. Never throws. */
  handle(request: IncomingMessage, response: ServerResponse, sender: Sender, refusals: Refusals): void {
    try {
      this.#take(request, response, sender, refusals);
    } catch (thrown) {
      refusals.fail(thrown);
    }
  }

  #take(request: IncomingMessage, response: ServerResponse, sender: Sender, refusals: Refusals): void {
    const isStream = wantsStream(request.headers);
    const bytes = bodyLength(request, this.#maxBodyBytes);
    const { caller } = sender;
    let held = 0;
    const reserve = (more: number): boolean => {
      if (!this.#bodies.take(caller, more)) {
        refusals.fail(overloaded());
        return false;
      }
      held += more;
      return true;
    };
    const unread = new UnreadAnswers(this.#unread, caller);
    limitUnread(response, unread);
    const stream = isStream ? new AnswerStream(response, unread) : undefined;
    const exchange = new DispatchExchange(this.#dispatcher, { request, response, stream, refusals }, sender);
    response.on("close", () => {
      this.#bodies.giveBack(caller, held);
      held = 0;
      exchange.closed();
    });
    readBody(request, bytes, reserve, (body) => {
      afterNextPoll(() => {
        if (!isClosed(request)) exchange.take(body);
      });
    });
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
 * @throws {RemoteProblem} `unsupported_media_type` or `not_acceptable`.
 */
function wantsStream({
  accept = "*/*",
  "content-type": type = "",
  "content-encoding": encoding,
}: IncomingHttpHeaders): boolean {
  if (type !== JSON_MEDIA_TYPE && type.split(";", 1)[0]?.trim().toLowerCase() !== JSON_MEDIA_TYPE) {
    throw new RemoteProblem("unsupported_media_type", `the content-type header must be ${JSON_MEDIA_TYPE}`);
  }
  if (encoding !== undefined) {
    throw new RemoteProblem("unsupported_media_type", "the body must not have a content-encoding");
  }
  if (accept === JSON_MEDIA_TYPE) return false;
  const wanted = accept.toLowerCase();
  if (wanted.includes(STREAM_MEDIA_TYPE)) return true;
  if (/\*\/\*|application\/(?:json|\*)/.test(wanted)) return false;
  throw new RemoteProblem(
    "not_acceptable",
    `the accept header must be ${JSON_MEDIA_TYPE} or ${STREAM_MEDIA_TYPE}`,
  );
}
