/** Bytes of the pieces into which small chunks are gathered. */
const PIECE_BYTES = 16_384;

/**
 * A body that arrives in chunks. It never holds more than its budget, and of what arrives around it or in small
 * chunks, no more than a piece.
 */
export class BoundedBody {
  readonly #maxBytes: number;
  readonly #pieces: Buffer[] = [];
  /** The piece that is being filled, and how far it is. */
  #filling: Buffer | undefined;
  #filled = 0;
  #length = 0;

  /** @param maxBytes The budget, in bytes. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Takes a chunk; tells whether it still fits. What does not fit is cut. */
  add(chunk: Buffer): boolean {
    const isFitting = chunk.length <= this.#maxBytes - this.#length;
    const fitting = isFitting ? chunk : chunk.subarray(0, this.#maxBytes - this.#length);
    // A chunk holds all that was read with it: it is kept if it is most of that. Most bodies are one chunk.
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

  /** What arrived so far. */
  get bytes(): Buffer {
    this.#endPiece();
    if (this.#pieces.length !== 1)
      this.#pieces.splice(0, Number.POSITIVE_INFINITY, Buffer.concat(this.#pieces));
    return this.#pieces[0] ?? Buffer.alloc(0);
  }
}
