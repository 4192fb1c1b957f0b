const INITIAL_BYTES = 65_536;
/** A buffer that became longer for one group is not retained. */
const MAX_KEPT_BYTES = 4_194_304;
/** The most bytes of a UTF-16 code unit in UTF-8. */
const MAX_UNIT_BYTES = 3;
const NEWLINE = 0x0a;

/** Lines as bytes, in a buffer that is used again. */
export class LineBuffer {
  #buffer = Buffer.allocUnsafeSlow(INITIAL_BYTES);
  #length = 0;

  /** The lines, each with a newline. Valid until the buffer is cleared. */
  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  /** Removes all lines. */
  clear(): this {
    this.#length = 0;
    if (this.#buffer.length > MAX_KEPT_BYTES) this.#buffer = Buffer.allocUnsafeSlow(INITIAL_BYTES);
    return this;
  }

  /** Adds a line, and returns its bytes without the newline. They are valid until the next line is added. */
  add(line: string): Buffer {
    const start = this.#length;
    const needed = start + line.length * MAX_UNIT_BYTES + 1;
    if (needed > this.#buffer.length) this.#grow(needed);
    const end = start + this.#buffer.write(line, start);
    this.#buffer[end] = NEWLINE;
    this.#length = end + 1;
    return this.#buffer.subarray(start, end);
  }

  #grow(needed: number): void {
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, this.#buffer.length * 2));
    this.#buffer.copy(grown, 0, 0, this.#length);
    this.#buffer = grown;
  }
}
