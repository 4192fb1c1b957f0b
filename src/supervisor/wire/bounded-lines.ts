const NEWLINE = 0x0a;

/** Splits bytes into lines without their ends, and holds no more than one line of a limited length. */
export class BoundedLines {
  readonly #maxBytes: number;
  #chunks: Buffer[] = [];
  #length = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The bytes of the line that has no end yet. */
  get rest(): Buffer {
    return Buffer.concat(this.#chunks);
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
      if (this.#length + part.length > this.#maxBytes) return false;
      const line = this.#chunks.length === 0 ? part : Buffer.concat([...this.#chunks, part]);
      this.#chunks = [];
      this.#length = 0;
      yield line;
    }
    const part = chunk.subarray(start);
    this.#length += part.length;
    if (this.#length > this.#maxBytes) {
      this.#chunks = [];
      return false;
    }
    // A copy: the chunk may be a small part of a larger buffer, or be used again.
    if (part.length > 0) this.#chunks.push(Buffer.from(part));
    return true;
  }
}
