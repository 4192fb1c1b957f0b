import { Tail } from "./tail.ts";
import { wholeEnd, wholeStart } from "./utf8.ts";

/** What is left of a text. */
export interface KeptText {
  readonly text: string;
  /** Whether nothing was left out. */
  readonly isWhole: boolean;
}

/** The beginning and the end of the bytes that a program writes, each up to a number of them. */
export class Ends {
  readonly #most: number;
  readonly #head: Buffer[] = [];
  readonly #tail: Tail;
  #headBytes = 0;

  /** @param most The most bytes of the beginning, and of the end. */
  constructor(most: number) {
    this.#most = most;
    this.#tail = new Tail(most);
  }

  /** How many bytes were written. */
  get bytes(): number {
    return this.#headBytes + this.#tail.bytes;
  }

  add(chunk: Buffer): void {
    const first = chunk.subarray(0, this.#most - this.#headBytes);
    if (first.length > 0) this.#head.push(first);
    this.#headBytes += first.length;
    if (first.length < chunk.length) this.#tail.add(chunk.subarray(first.length));
  }

  /**
   * Returns the text, in which invalid bytes are U+FFFD: the whole, or its beginning and its end with a note between them
   * that counts the bytes that are left out.
   *
   * @param most The most bytes of the beginning, and of the end. Default: as many as were kept.
   */
  text(most: number = this.#most): KeptText {
    const kept = Buffer.concat([...this.#head, this.#tail.read()]);
    const each = Math.min(most, this.#most);
    if (this.bytes <= 2 * each) return { text: kept.toString("utf8"), isWhole: true };
    const first = wholeEnd(kept.subarray(0, each));
    const last = wholeStart(kept.subarray(kept.length - each));
    const note = leftOutNote(this.bytes - first.length - last.length);
    return { text: first.toString("utf8") + note + last.toString("utf8"), isWhole: false };
  }
}

/** `[… 12,345 bytes left out …]`, on a line of its own. */
export function leftOutNote(bytes: number): string {
  return `\n[… ${bytes.toLocaleString("en-US")} bytes left out …]\n`;
}
