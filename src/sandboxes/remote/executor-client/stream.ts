import { EgressError } from "../../../egress/egress-error.ts";
import { readShaped } from "../../../remote-protocol/bodies.ts";
import { type StreamEvent, StreamReader } from "../../../remote-protocol/event-stream.ts";
import type { LogLevel } from "../../../tool/streamed.ts";
import type { TaskObserver } from "../../contract/sandbox.ts";
import { DEFAULT_LOG_BUDGET } from "../../threads/thread-message.ts";

/** How much a stream may contain before its last event. */
export interface StreamBudget {
  /** Bytes of output. A stream that exceeds them fails. */
  readonly outputBytes: number;
  /** Log lines; later ones are dropped. */
  readonly logLines: number;
}

/**
 * Reads an executor's stream as it arrives: passes on output and log lines at once, and returns the last
 * event.
 */
export class AnswerStream {
  /** The event with the execution, or with a problem instead. */
  last: StreamEvent | undefined;
  readonly #observer: TaskObserver;
  readonly #onWait: () => void;
  readonly #reader: StreamReader;
  readonly #decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  readonly #maxOutputBytes: number;
  #outputBytes = 0;
  #hasBegun = false;
  #leftLogLines: number;
  #leftLogBytes: number = DEFAULT_LOG_BUDGET.bytes;

  /**
   * @param maxLength The longest event, in UTF-16 code units.
   * @param onWait Called when the executor says that the call waits for its turn.
   */
  constructor(
    observer: TaskObserver,
    { outputBytes, logLines }: StreamBudget,
    maxLength: number,
    onWait: () => void,
  ) {
    this.#observer = observer;
    this.#onWait = onWait;
    this.#reader = new StreamReader(maxLength);
    this.#maxOutputBytes = outputBytes;
    this.#leftLogLines = logLines;
  }

  /** Whether a chunk or a log line was passed on. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** The length of the event that is not complete yet. */
  get pendingLength(): number {
    return this.#reader.pendingLength;
  }

  /** Bytes of output that came before the last event. */
  get outputBytes(): number {
    return this.#outputBytes;
  }

  /**
   * Reads the next chunk of the stream.
   *
   * @throws {EgressError} `body_too_large` if there is too much output; other errors if the stream is invalid.
   */
  push(piece: Uint8Array): void {
    for (const event of this.#reader.push(this.#decoder.decode(piece, { stream: true }))) this.take(event);
  }

  /**
   * Takes the next event.
   *
   * @throws as {@link push}.
   */
  take({ event, data }: StreamEvent): void {
    if (this.last !== undefined)
      throw new EgressError("response_invalid", "the stream continues after its last event");
    if (event === "output") this.#output(readShaped<{ chunk: string }>("Output", data).chunk);
    else if (event === "log") this.#log(readShaped<{ level: LogLevel; message: string }>("Log", data));
    else if (event === "waiting") this.#onWait();
    else if (event === "execution" || event === "problem") this.last = { event, data };
    // Other events belong to a later version of the protocol.
  }

  #output(chunk: string): void {
    this.#outputBytes += Buffer.byteLength(chunk);
    if (this.#outputBytes > this.#maxOutputBytes) {
      throw new EgressError("body_too_large", `the output is larger than ${this.#maxOutputBytes} bytes`);
    }
    this.#hasBegun = true;
    this.#observer.output(chunk);
  }

  #log({ level, message }: { readonly level: LogLevel; readonly message: string }): void {
    this.#leftLogBytes -= Buffer.byteLength(message) + 1;
    if (--this.#leftLogLines < 0 || this.#leftLogBytes <= 0) return;
    this.#hasBegun = true;
    this.#observer.log(level, message);
  }
}
