import type { IncomingMessage, ServerResponse } from "node:http";
import { BodyError, readDispatchRequest } from "../remote-protocol/bodies.ts";
import { matchesContentDigest } from "../remote-protocol/content-digest.ts";
import { JSON_MEDIA_TYPE, REPLAYED_HEADER, STREAM_MEDIA_TYPE } from "../remote-protocol/http.ts";
import type { DispatchRequest } from "../remote-protocol/messages.ts";
import { RemoteProblem } from "../remote-protocol/problems.ts";
import { AnswerStream } from "./answer-stream.ts";
import type { Dispatcher, Submission } from "./dispatcher.ts";
import { type ExecutorLimits, HELD_BODIES } from "./limits.ts";
import { ByteBudget, bodyLength, decodeBody, readBody } from "./request-body.ts";
import { respond, respondProblem } from "./respond.ts";

const JSON_HEADERS: Readonly<Record<string, string>> = { "content-type": JSON_MEDIA_TYPE };
const REPLAYED_JSON: Readonly<Record<string, string>> = { ...JSON_HEADERS, [REPLAYED_HEADER]: "true" };

/** Who sends a request, as its headers prove. */
export interface Sender {
  readonly caller: string;
  readonly isSigned: boolean;
}

/** `POST /v1/dispatch`. */
export class DispatchRoute {
  readonly #dispatcher: Dispatcher;
  readonly #maxBodyBytes: number;
  readonly #bodies: ByteBudget;

  constructor(dispatcher: Dispatcher, { bodyBytes }: ExecutorLimits) {
    this.#dispatcher = dispatcher;
    this.#maxBodyBytes = bodyBytes;
    this.#bodies = new ByteBudget(bodyBytes * HELD_BODIES);
  }

  /** @throws {RemoteProblem} or {ClientGoneError} when there is no answer. */
  async handle(request: IncomingMessage, response: ServerResponse, sender: Sender): Promise<void> {
    const isStream = readHeaders(request);
    const bytes = bodyLength(request, this.#maxBodyBytes);
    if (!this.#bodies.take(bytes)) {
      throw new RemoteProblem("overloaded", "too many calls: come again later", 1);
    }
    try {
      const call = readCall(request, await readBody(request), sender);
      if (isStream) await this.#stream(call, request, response, sender);
      else await this.#answer(call, response, sender);
    } finally {
      this.#bodies.giveBack(bytes);
    }
  }

  async #answer(call: DispatchRequest, response: ServerResponse, { caller }: Sender): Promise<void> {
    const submission = this.#dispatcher.submit(call, caller);
    const { answer, isReplayed } = submission;
    const headers = isReplayed ? REPLAYED_JSON : JSON_HEADERS;
    const text = typeof answer === "string" ? answer : await waitFor(answer, submission, response);
    respond(response, 200, headers, text);
  }

  async #stream(
    call: DispatchRequest,
    request: IncomingMessage,
    response: ServerResponse,
    { caller }: Sender,
  ): Promise<void> {
    const stream = new AnswerStream(response);
    const submission = this.#dispatcher.submit(call, caller, stream.listener);
    const { answer, isReplayed } = submission;
    if (isReplayed) response.setHeader(REPLAYED_HEADER, "true");
    try {
      stream.end(typeof answer === "string" ? answer : await waitFor(answer, submission, response));
    } catch (thrown) {
      if (!(thrown instanceof RemoteProblem)) throw thrown;
      this.#dispatcher.metrics.refused(thrown.code);
      if (stream.hasBegun) stream.fail(thrown);
      else respondProblem(request, response, thrown);
    }
  }
}

/** Waits for an answer as long as there is somebody to give it to. */
async function waitFor(
  answer: Promise<string>,
  submission: Submission,
  response: ServerResponse,
): Promise<string> {
  response.on("close", submission.leave);
  // It may have gone while its body was read.
  if (response.closed || response.destroyed) submission.leave();
  const text = await answer;
  response.off("close", submission.leave);
  return text;
}

/** @returns whether a stream is asked for. */
function readHeaders({
  headers: { accept = "*/*", "content-type": type = "", ...headers },
}: IncomingMessage): boolean {
  if (type.split(";", 1)[0]?.trim().toLowerCase() !== JSON_MEDIA_TYPE) {
    throw new RemoteProblem("unsupported_media_type", `the body must be ${JSON_MEDIA_TYPE}`);
  }
  if (headers["content-encoding"] !== undefined) {
    throw new RemoteProblem("unsupported_media_type", "the body must not be encoded");
  }
  const wanted = accept.toLowerCase();
  if (wanted.includes(STREAM_MEDIA_TYPE)) return true;
  if (/\*\/\*|application\/(?:json|\*)/.test(wanted)) return false;
  throw new RemoteProblem("not_acceptable", `accept must be ${JSON_MEDIA_TYPE} or ${STREAM_MEDIA_TYPE}`);
}

function readCall({ headers }: IncomingMessage, body: Buffer, { isSigned }: Sender): DispatchRequest {
  const digest = headers["content-digest"];
  if ((isSigned || digest !== undefined) && !matchesContentDigest(String(digest), body)) {
    throw new RemoteProblem(
      "altered",
      "the body has another content-digest than the header says, in sha-256",
    );
  }
  try {
    return readDispatchRequest(decodeBody(body));
  } catch (error) {
    if (error instanceof BodyError) throw new RemoteProblem("bad_request", error.message);
    throw error;
  }
}
