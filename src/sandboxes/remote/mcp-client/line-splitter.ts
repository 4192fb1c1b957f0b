const NEWLINE = 10;

/** A line is longer than a {@link LineSplitter} allows. */
export class LineTooLongError extends Error {
  override readonly name = "LineTooLongError";
}

/**
 * Splits bytes into lines at line feeds. Buffers at most one unfinished line, however small its pieces are.
 */
export class LineSplitter {
  readonly #maxBytes: number;
  /** The buffer of the unfinished line. */
  #pending = Buffer.alloc(0);
  #length = 0;

  /** @param maxBytes The most bytes of a line. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The bytes of the unfinished line. */
  get length(): number {
    return this.#length;
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
      if (this.#length === 0 && last.length <= this.#maxBytes) yield last;
      else {
        this.#buffer(last);
        const line = this.#pending.subarray(0, this.#length);
        this.#pending = Buffer.alloc(0);
        this.#length = 0;
        yield line;
      }
    }
    if (start < bytes.length) this.#buffer(bytes.subarray(start));
  }

  /** A list of small pieces would take many times their bytes. */
  #buffer(piece: Buffer): void {
    const length = this.#length + piece.length;
    if (length > this.#maxBytes) throw new LineTooLongError();
    if (length > this.#pending.length) {
      const larger = Buffer.allocUnsafe(Math.min(Math.max(2 * length, 1_024), this.#maxBytes));
      this.#pending.copy(larger, 0, 0, this.#length);
      this.#pending = larger;
    }
    piece.copy(this.#pending, this.#length);
    this.#length = length;
  }
}
