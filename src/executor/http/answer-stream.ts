import type { ServerResponse } from "node:http";
import { writeStreamEvent } from "../../remote-protocol/event-stream.ts";
import { STREAM_MEDIA_TYPE } from "../../remote-protocol/http.ts";
import type { RemoteProblem } from "../../remote-protocol/problems.ts";
import type { CallEvent } from "../once/dispatched-call.ts";

/** What may wait for a slow reader: chunks and log lines beyond it are left out, the execution never. */
const MAX_WAITING_BYTES = 1_024 * 1_024;

/** Answers with a stream: what the call tells as it comes, and its execution last. */
export class AnswerStream {
  readonly #response: ServerResponse;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  /** Whether the answer has begun: from then on a problem is an event. */
  get hasBegun(): boolean {
    return this.#response.headersSent;
  }

  /** Tells a chunk or a log line. */
  tell(event: CallEvent): void {
    if (this.#response.writableLength > MAX_WAITING_BYTES) return;
    this.#begin();
    if (event.type === "tool.output") this.#write("output", JSON.stringify({ chunk: event.chunk }));
    else this.#write("log", JSON.stringify({ level: event.level, message: event.message }));
  }

  /** @param execution JSON text. */
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
      // Proxies would otherwise collect what is to come at once.
      "x-accel-buffering": "no",
    });
  }

  #write(event: "output" | "log", data: string): void {
    this.#response.write(writeStreamEvent(event, data));
  }
}
