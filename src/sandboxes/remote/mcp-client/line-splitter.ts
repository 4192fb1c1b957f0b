const NEWLINE = 10;

/** A line is longer than a {@link LineSplitter} allows. */
export class LineTooLongError extends Error {
  override readonly name = "LineTooLongError";
}

/** Splits bytes into lines at line feeds. It keeps at most one unfinished line. */
export class LineSplitter {
  readonly #maxBytes: number;
  #pieces: Buffer[] = [];
  #length = 0;

  /** @param maxBytes The most bytes of a line. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /**
   * Reads the next bytes, and returns the lines that they complete, without line feeds.
   *
   * @throws {LineTooLongError} if a line is too long.
   */
  *push(bytes: Buffer): Generator<Buffer> {
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
      const last = bytes.subarray(start, end);
      start = end + 1;
      if (this.#length + last.length > this.#maxBytes) throw new LineTooLongError();
      yield this.#length === 0 ? last : Buffer.concat([...this.#pieces, last]);
      this.#pieces = [];
      this.#length = 0;
    }
    if (start === bytes.length) return;
    this.#pieces.push(bytes.subarray(start));
    this.#length += bytes.length - start;
    if (this.#length > this.#maxBytes) throw new LineTooLongError();
  }
}
