import { CollectedBytes } from "../../base/collected-bytes.ts";

const NEWLINE = 0x0a;

/** Splits bytes into lines without their ends. Buffers at most one line of a limited length. */
export class BoundedLines {
  readonly #maxBytes: number;
  readonly #rest = new CollectedBytes();

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The bytes of the line that has no end yet. */
  get rest(): Buffer {
    return this.#rest.read();
  }

  /**
   * Yields the lines that end in a chunk.
   *
   * @returns Whether all lines are short enough so far. After a line that is not, nothing more is read.
   */
  *push(chunk: Buffer): Generator<Buffer, boolean, undefined> {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      const part = chunk.subarray(start, end);
      start = end + 1;
      if (this.#rest.length + part.length > this.#maxBytes) return false;
      const line = this.#rest.length === 0 ? part : Buffer.concat([this.#rest.read(), part]);
      this.#rest.clear();
      yield line;
    }
    const part = chunk.subarray(start);
    if (this.#rest.length + part.length > this.#maxBytes) {
      this.#rest.clear();
      return false;
    }
    // A copy: the chunk may be used again.
    if (part.length > 0) this.#rest.add(Buffer.from(part));
    return true;
  }
}
