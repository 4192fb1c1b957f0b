import { beginning, ending } from "../base/text.ts";
import type { Redaction } from "../redaction/redaction.ts";
import type { TaskObserver } from "../sandboxes/contract/sandbox.ts";
import type { Display, LogLevel } from "../tool/streamed.ts";
import { leftOutNote, shorten } from "./result-budget.ts";

/**
 * Maximum number of characters, so that the model reads at most 30,000 with the text before them, which says
 * why the call ended.
 */
const MAX_CHARS = 30_000 - 64;
const HEAD = 0.6;
const HEAD_CHARS = Math.floor(MAX_CHARS * HEAD);
const TAIL_CHARS = MAX_CHARS - HEAD_CHARS - 64;
/** Buffered beyond what is shown, so that a secret which the cut would split is found first. */
const MARGIN = 8_192;

/** Buffers the beginning and the end of what a call streams, and passes everything on. */
export class PartialOutput implements TaskObserver {
  readonly #observer: TaskObserver;
  #head = "";
  #tail = "";
  /** The characters between head and tail that were dropped. */
  #dropped = 0;

  constructor(observer: TaskObserver) {
    this.#observer = observer;
  }

  output(chunk: string): void {
    this.#buffer(chunk);
    this.#observer.output(chunk);
  }

  log(level: LogLevel, message: string): void {
    this.#observer.log(level, message);
  }

  display(display: Display): void {
    this.#observer.display?.(display);
  }

  #buffer(chunk: string): void {
    const room = Math.max(HEAD_CHARS + MARGIN - this.#head.length, 0);
    this.#head += chunk.slice(0, room);
    this.#tail += chunk.slice(room);
    const most = MAX_CHARS - HEAD_CHARS + MARGIN;
    // Cut only now and then: each cut copies the tail.
    if (this.#tail.length > 2 * most) this.#drop(this.#tail.length - most);
  }

  #drop(count: number): void {
    this.#dropped += count;
    this.#tail = this.#tail.slice(count);
  }

  /**
   * Returns what was streamed, without secrets: the whole, or the beginning and the end with a note between them.
   * `undefined` if nothing was streamed.
   */
  text(redaction: Redaction): string | undefined {
    if (this.#head === "") return undefined;
    if (this.#dropped === 0) return shorten(redaction.text(this.#head + this.#tail), MAX_CHARS, HEAD);
    const first = beginning(redaction.text(this.#head), HEAD_CHARS);
    const last = ending(redaction.text(this.#tail), TAIL_CHARS);
    const streamed = this.#head.length + this.#dropped + this.#tail.length;
    return first + leftOutNote(streamed - first.length - last.length) + last;
  }
}
