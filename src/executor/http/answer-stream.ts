import type { ServerResponse } from "node:http";
import { writeStreamEvent } from "../../remote-protocol/event-stream.ts";
import { STREAM_MEDIA_TYPE } from "../../remote-protocol/http.ts";
import type { RemoteProblem } from "../../remote-protocol/problems.ts";
import type { UnreadAnswers } from "../load/unread-answers.ts";
import type { CallEvent } from "../once/dispatched-call.ts";
import { bodyOf } from "./respond.ts";

/** Bytes to buffer for a slow reader. Further chunks and log lines are dropped, but never the execution. */
const MAX_WAITING_BYTES = 256 * 1_024;

/** Responds with a stream: the chunks and log lines of a call, and finally its execution. */
export class AnswerStream {
  readonly #response: ServerResponse;
  readonly #unread: UnreadAnswers;

  /** @param unread Where what waits for the reader has to have room. */
  constructor(response: ServerResponse, unread: UnreadAnswers) {
    this.#response = response;
    this.#unread = unread;
  }

  /** Whether the response has begun. After that, problems must be sent as events. */
  get hasBegun(): boolean {
    return this.#response.headersSent;
  }

  /** Sends a chunk or a log line. */
  tell(event: CallEvent): void {
    const waiting = this.#response.writableLength;
    if (waiting > MAX_WAITING_BYTES) return;
    const isOutput = event.type === "tool.output";
    const data = isOutput ? { chunk: event.chunk } : { level: event.level, message: event.message };
    const text = writeStreamEvent(isOutput ? "output" : "log", JSON.stringify(data));
    if (!this.#unread.settle(waiting + text.length)) return;
    this.#begin();
    this.#response.write(text);
  }

  /** Says that the call waits, or has waited, for its turn. */
  tellWait(): void {
    this.#response.write(writeStreamEvent("waiting", "{}"));
  }

  /** @param execution The execution as JSON text. */
  end(execution: string): void {
    this.#begin();
    this.#response.end(bodyOf(writeStreamEvent("execution", execution)));
  }

  fail(problem: RemoteProblem): void {
    this.#response.end(writeStreamEvent("problem", JSON.stringify(problem)));
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
