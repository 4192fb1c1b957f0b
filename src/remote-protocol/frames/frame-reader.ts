import { FRAME_HEADER_BYTES } from "./frame.ts";

/** Receives what a {@link FrameReader} reads. What a method throws ends the reading. */
export interface FrameSink {
  /**
   * Called with the header of each frame, before its payload is read.
   *
   * @returns whether to read the payload. Otherwise it is dropped as it arrives.
   */
  admit(type: number, id: number, length: number): boolean;
  /**
   * Called before memory is allocated for a payload that arrives in pieces, unless it is small.
   *
   * @returns `false` to drop the frame.
   */
  reserve(bytes: number): boolean;
  /** Called when memory that was reserved is free again. */
  release(bytes: number): void;
  /** Called with each complete frame. The payload is only valid during the call. */
  take(type: number, id: number, payload: Buffer): void;
}

/** Verifies the seals of frames. */
export interface FrameSealCheck {
  readonly bytes: number;
  /** @throws {FrameError} if the seal is wrong. */
  check(framed: Buffer, seal: Buffer): void;
  /** Counts a frame that is dropped: the seals of later frames depend on its position. */
  skip(): void;
}

/** Bytes that are allocated for a payload of which only a part has arrived, at least. */
const FIRST_BYTES = 16_384;
/** The size up to which memory is not reserved: a frame about a call that has begun must not be lost if memory is short. */
const UNRESERVED_BYTES = 1_024;
const EMPTY = Buffer.alloc(0);

/**
 * Reads frames from chunks of any sizes. Frames that are complete in a chunk are not copied; memory for another one is
 * allocated as it arrives, and not as it is announced.
 */
export class FrameReader {
  readonly #sink: FrameSink;
  readonly #seals: FrameSealCheck | undefined;
  readonly #sealBytes: number;
  /** The beginning of a frame. */
  #partial: Buffer = EMPTY;
  #filled = 0;
  /** Bytes that were reserved for {@link #partial}. */
  #reserved = 0;
  /** The size of the frame that {@link #partial} begins; 0 until its header is complete. */
  #wanted = 0;
  /** Bytes of a dropped frame that have not arrived. */
  #dropping = 0;

  constructor(sink: FrameSink, seals?: FrameSealCheck) {
    this.#sink = sink;
    this.#seals = seals;
    this.#sealBytes = seals === undefined ? 0 : seals.bytes;
  }

  /** Whether a part of a frame has arrived. */
  get isInFrame(): boolean {
    return this.#filled > 0 || this.#dropping > 0;
  }

  /** Frees the buffered part of an incomplete frame. */
  close(): void {
    this.#forget();
  }

  /** Reads the next chunk. */
  push(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#dropping > 0) {
        const dropped = Math.min(this.#dropping, chunk.length - at);
        this.#dropping -= dropped;
        at += dropped;
      } else if (this.#filled > 0) at = this.#continue(chunk, at);
      else at = this.#begin(chunk, at);
    }
  }

  #begin(chunk: Buffer, at: number): number {
    const left = chunk.length - at;
    if (left < FRAME_HEADER_BYTES) return this.#buffer(chunk, at, left);
    const payload = chunk.readUInt32BE(at);
    const size = FRAME_HEADER_BYTES + payload + this.#sealBytes;
    if (!this.#sink.admit(chunk.readUInt8(at + 4), chunk.readUInt32BE(at + 5), payload)) {
      this.#drop(size);
      return at;
    }
    if (left < size) {
      this.#wanted = size;
      return this.#buffer(chunk, at, left);
    }
    this.#deliver(chunk.subarray(at, at + size));
    return at + size;
  }

  #continue(chunk: Buffer, at: number): number {
    const isHeader = this.#wanted === 0;
    const missing = (isHeader ? FRAME_HEADER_BYTES : this.#wanted) - this.#filled;
    const next = at + Math.min(missing, chunk.length - at);
    this.#buffer(chunk, at, next - at);
    // It is empty if there was no memory for the frame.
    if (this.#filled === 0 || next - at < missing) return next;
    if (!isHeader) {
      const whole = this.#partial.subarray(0, this.#wanted);
      this.#forget();
      this.#deliver(whole);
      return next;
    }
    const header = this.#partial;
    const payload = header.readUInt32BE(0);
    const size = FRAME_HEADER_BYTES + payload + this.#sealBytes;
    if (this.#sink.admit(header.readUInt8(4), header.readUInt32BE(5), payload)) {
      this.#wanted = size;
      if (size > FRAME_HEADER_BYTES) return next;
      const whole = header.subarray(0, size);
      this.#forget();
      this.#deliver(whole);
    } else {
      this.#forget();
      this.#drop(size - FRAME_HEADER_BYTES);
    }
    return next;
  }

  #buffer(chunk: Buffer, at: number, bytes: number): number {
    const filled = this.#filled + bytes;
    if (filled > this.#partial.length && !this.#grow(filled)) {
      this.#drop(this.#wanted - filled);
      this.#forget();
      return at + bytes;
    }
    chunk.copy(this.#partial, this.#filled, at, at + bytes);
    this.#filled = filled;
    return at + bytes;
  }

  #grow(bytes: number): boolean {
    let capacity = FRAME_HEADER_BYTES;
    if (this.#wanted > 0) {
      capacity = Math.min(this.#wanted, Math.max(FIRST_BYTES, bytes * 2));
      if (this.#wanted > UNRESERVED_BYTES) {
        if (!this.#sink.reserve(capacity - this.#reserved)) return false;
        this.#reserved = capacity;
      }
    }
    const grown = Buffer.allocUnsafeSlow(capacity);
    this.#partial.copy(grown, 0, 0, this.#filled);
    this.#partial = grown;
    return true;
  }

  /** Drops a frame, of which some bytes have not arrived. */
  #drop(bytes: number): void {
    this.#dropping = bytes;
    this.#seals?.skip();
  }

  #forget(): void {
    this.#partial = EMPTY;
    this.#filled = 0;
    this.#wanted = 0;
    if (this.#reserved > 0) this.#sink.release(this.#reserved);
    this.#reserved = 0;
  }

  #deliver(frame: Buffer): void {
    const end = frame.length - this.#sealBytes;
    this.#seals?.check(frame.subarray(0, end), frame.subarray(end));
    const [type, id] = [frame.readUInt8(4), frame.readUInt32BE(5)];
    this.#sink.take(type, id, frame.subarray(FRAME_HEADER_BYTES, end));
  }
}
