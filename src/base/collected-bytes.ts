import { createHash } from "node:crypto";
import { setImmediate } from "node:timers/promises";

/** How many bytes are copied or hashed in one turn of the event loop. That takes about a millisecond. */
const SLICE_BYTES = 1_024 * 1_024;

/** The size of the buffers into which small chunks are copied; chunks of this size or more are not copied. */
const PIECE_BYTES = 16_384;
const WHOLE_BYTES = 4_096;

/**
 * Collects bytes that arrive in chunks, with little overhead: small chunks are copied into larger buffers. By itself, a chunk of
 * one byte would take several hundred, and could retain the whole buffer that it was read into.
 */
export class CollectedBytes {
  readonly #pieces: Buffer[] = [];
  /** The buffer that is being filled, and how many bytes of it are used. */
  #filling: Buffer | undefined;
  #filled = 0;
  #length = 0;

  /** The number of bytes. */
  get length(): number {
    return this.#length;
  }

  /** Adds a chunk, which must not be changed afterwards. */
  add(chunk: Buffer): void {
    // Most outputs and bodies are one chunk.
    const isLarge = chunk.length >= WHOLE_BYTES && chunk.length * 2 >= chunk.buffer.byteLength;
    if (this.#length === 0 || isLarge) {
      this.#endPiece();
      this.#pieces.push(chunk);
    } else this.#copy(chunk);
    this.#length += chunk.length;
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
    const piece = this.#filling?.subarray(0, this.#filled);
    if (piece !== undefined) this.#pieces.push(this.#filled * 2 < PIECE_BYTES ? Buffer.from(piece) : piece);
    this.#filling = undefined;
    this.#filled = 0;
  }

  /** Returns all bytes as one buffer. */
  read(): Buffer {
    this.#endPiece();
    const [only = Buffer.alloc(0)] = this.#pieces;
    if (this.#pieces.length <= 1) return only;
    const all = Buffer.concat(this.#pieces);
    this.#pieces.splice(0, this.#pieces.length, all);
    return all;
  }

  /** Discards all bytes. */
  clear(): void {
    this.#pieces.length = 0;
    this.#filling = undefined;
    this.#filled = 0;
    this.#length = 0;
  }
}

/**
 * Calls a function with one part of bytes after another, each in a turn of its own, so that other events are handled
 * between them.
 */
async function inSlices(bytes: Uint8Array, use: (part: Uint8Array, at: number) => void): Promise<void> {
  for (let at = 0; at < bytes.length; at += SLICE_BYTES) {
    if (at > 0) await setImmediate();
    use(bytes.subarray(at, at + SLICE_BYTES), at);
  }
}

/** Copies bytes into memory that threads share, so that they can be sent to one without being copied again. */
export async function sharedCopy(bytes: Uint8Array): Promise<Uint8Array<SharedArrayBuffer>> {
  const copy = new Uint8Array(new SharedArrayBuffer(bytes.length));
  await inSlices(bytes, (part, at) => copy.set(part, at));
  return copy;
}

/** Returns the SHA-256 digest of bytes, in hex. */
export async function sha256InSlices(bytes: Uint8Array): Promise<string> {
  const hash = createHash("sha256");
  await inSlices(bytes, (part) => hash.update(part));
  return hash.digest("hex");
}

/** Joins bytes. */
export async function concatInSlices(parts: readonly Uint8Array[]): Promise<Uint8Array<SharedArrayBuffer>> {
  const all = new Uint8Array(new SharedArrayBuffer(parts.reduce((sum, { length }) => sum + length, 0)));
  let start = 0;
  let copied = 0;
  for (const part of parts) {
    const to = start;
    // Most parts are small.
    if (copied + part.length > SLICE_BYTES) {
      await setImmediate();
      copied = 0;
    }
    await inSlices(part, (slice, at) => all.set(slice, to + at));
    start += part.length;
    copied += part.length;
  }
  return all;
}
