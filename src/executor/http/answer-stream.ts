import type { ServerResponse } from "node:http";
import { writeStreamEvent } from "../../remote-protocol/event-stream.ts";
import { STREAM_MEDIA_TYPE } from "../../remote-protocol/http.ts";
import type { RemoteProblem } from "../../remote-protocol/problems.ts";
import type { CallEvent } from "../once/dispatched-call.ts";

/** Bytes to buffer for a slow reader. Further chunks and log lines are dropped, but never the execution. */
const MAX_WAITING_BYTES = 1_024 * 1_024;

/** Responds with a stream: the chunks and log lines of a call, and finally its execution. */
export class AnswerStream {
  readonly #response: ServerResponse;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  /** Whether the response has begun. After that, problems must be sent as events. */
  get hasBegun(): boolean {
    return this.#response.headersSent;
  }

  /** Sends a chunk or a log line. */
  tell(event: CallEvent): void {
    if (this.#response.writableLength > MAX_WAITING_BYTES) return;
    this.#begin();
    if (event.type === "tool.output") this.#write("output", JSON.stringify({ chunk: event.chunk }));
    else this.#write("log", JSON.stringify({ level: event.level, message: event.message }));
  }

  /** Says that the call waits, or has waited, for its turn. */
  tellWait(): void {
    this.#write("waiting", "{}");
  }

  /** @param execution The execution as JSON text. */
  end(execution: string): void {
    this.#begin();
    this.#response.end(writeStreamEvent("execution", execution));
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

  #write(event: "output" | "log" | "waiting", data: string): void {
    this.#response.write(writeStreamEvent(event, data));
  }
}
