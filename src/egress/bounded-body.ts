/** Bytes of the buffers into which small chunks are copied. */
const PIECE_BYTES = 16_384;

/**
 * A body that arrives in chunks. It holds at most its budget, and little more memory than the body: small chunks are
 * copied, since each would keep the whole buffer alive that it was read into.
 */
export class BoundedBody {
  readonly #maxBytes: number;
  readonly #pieces: Buffer[] = [];
  /** The buffer that is being filled, and how many bytes of it are used. */
  #filling: Buffer | undefined;
  #filled = 0;
  #length = 0;

  /** @param maxBytes The budget, in bytes. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Adds a chunk, and returns whether it fits. A chunk that exceeds the budget is truncated. */
  add(chunk: Buffer): boolean {
    const isFitting = chunk.length <= this.#maxBytes - this.#length;
    const fitting = isFitting ? chunk : chunk.subarray(0, this.#maxBytes - this.#length);
    // A chunk is kept as it is if it is most of the buffer that it was read into. Most bodies are one chunk.
    if (this.#length === 0 || fitting.length * 2 >= fitting.buffer.byteLength) {
      this.#endPiece();
      this.#pieces.push(fitting);
    } else {
      this.#copy(fitting);
    }
    this.#length += fitting.length;
    return isFitting;
  }

  #copy(chunk: Buffer): void {
    for (let copied = 0; copied < chunk.length; ) {
      if (this.#filled === this.#filling?.length) this.#endPiece();
      this.#filling ??= Buffer.allocUnsafeSlow(PIECE_BYTES);
      const count = chunk.copy(this.#filling, this.#filled, copied);
      copied += count;
      this.#filled += count;
    }
  }

  #endPiece(): void {
    if (this.#filling !== undefined) this.#pieces.push(this.#filling.subarray(0, this.#filled));
    this.#filling = undefined;
    this.#filled = 0;
  }

  /** The bytes received so far. */
  get bytes(): Buffer {
    this.#endPiece();
    if (this.#pieces.length !== 1)
      this.#pieces.splice(0, Number.POSITIVE_INFINITY, Buffer.concat(this.#pieces));
    return this.#pieces[0] ?? Buffer.alloc(0);
  }
}
