import type { Writable } from "node:stream";
import { FRAME_HEADER_BYTES } from "./frame.ts";

/** A frame to send. */
export interface OutgoingFrame {
  readonly type: number;
  readonly id: number;
  /** The first bytes of the payload. */
  readonly prefix?: Buffer | undefined;
  /** The part of the payload that was not sent yet. */
  readonly text: string;
  /** The length of `text` in UTF-8. */
  readonly textBytes: number;
  /** Called when the frame is passed to the socket: parts of it may be sent from then on. */
  readonly onWritten?: ((bytes: number) => void) | undefined;
  /** Whether it is not needed any more, if it has not been written. */
  readonly isDropped?: boolean;
}

/** Seals frames. */
export interface FrameSealer {
  readonly bytes: number;
  /** Writes the seal of a frame. */
  seal(frame: Buffer, into: Buffer, at: number): void;
}

/** Bytes of one write, beyond which further frames wait until the reader has read it. */
const MAX_BATCH_BYTES = 1_024 * 1_024;

/** Frames that are written at once, before the turn of the event loop ends: the reader works on them meanwhile. */
const EAGER_FRAMES = 16;

/** Bytes of memory that a buffered frame takes up in addition to its text. */
const WAITING_FRAME_BYTES = 256;

/**
 * Sends frames. Up to 16 of one turn of the event loop are sent in one write, and those of a slow reader wait here, as
 * texts, until it has read what was written before.
 */
export class Outbox {
  readonly #socket: Writable;
  readonly #sealer: FrameSealer | undefined;
  readonly #sealBytes: number;
  #waiting: OutgoingFrame[] = [];
  #waitingBytes = 0;
  #isScheduled = false;
  #blockedSince: number | undefined;
  /** Called when the reader has read what was written, and frames that waited have been written. */
  onDrain: () => void = () => {};

  constructor(socket: Writable, sealer?: FrameSealer) {
    this.#socket = socket;
    this.#sealer = sealer;
    this.#sealBytes = sealer === undefined ? 0 : sealer.bytes;
    socket.on("drain", () => {
      this.#blockedSince = undefined;
      this.flush();
      if (this.#blockedSince === undefined) this.onDrain();
    });
  }

  /** Bytes that have not been sent. */
  get bytes(): number {
    return this.#waitingBytes + this.#socket.writableLength;
  }

  /** The memory of frames that the reader has not read, in bytes: many small frames take up more than their length. */
  get memoryBytes(): number {
    return this.bytes + this.#waiting.length * WAITING_FRAME_BYTES;
  }

  /** Since when the reader has not read what was written, on the clock of `performance.now()`; `undefined` if it has. */
  get blockedSince(): number | undefined {
    return this.#blockedSince;
  }

  /** Sends a frame, in this turn of the event loop unless the reader is slow. */
  send(frame: OutgoingFrame): void {
    this.#waiting.push(frame);
    this.#waitingBytes += this.#sizeOf(frame);
    if (this.#blockedSince !== undefined) return;
    if (this.#waiting.length >= EAGER_FRAMES) this.flush();
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    process.nextTick(this.#flushScheduled);
  }

  readonly #flushScheduled = (): void => {
    this.#isScheduled = false;
    this.flush();
  };

  /** Writes the frames that wait, unless the reader is slow. */
  flush(): void {
    if (this.#waiting.length === 0 || this.#blockedSince !== undefined) return;
    const frames = this.#takeBatch();
    if (frames.length === 0 || !this.#socket.writable) return;
    const all = Buffer.allocUnsafe(frames.reduce((sum, frame) => sum + this.#sizeOf(frame), 0));
    let at = 0;
    for (const frame of frames) {
      const end = this.#write(frame, all, at);
      frame.onWritten?.(end - at);
      at = end;
    }
    if (!this.#socket.write(all)) this.#blockedSince = performance.now();
    else if (this.#waiting.length > 0) this.flush();
  }

  /** Takes the frames of the next write. */
  #takeBatch(): readonly OutgoingFrame[] {
    let bytes = 0;
    let count = 0;
    const batch: OutgoingFrame[] = [];
    for (const frame of this.#waiting) {
      if (bytes >= MAX_BATCH_BYTES) break;
      const size = this.#sizeOf(frame);
      this.#waitingBytes -= size;
      count++;
      if (frame.isDropped === true) continue;
      bytes += size;
      batch.push(frame);
    }
    this.#waiting = count === this.#waiting.length ? [] : this.#waiting.slice(count);
    return batch;
  }

  /** Drops the frames that wait. */
  close(): void {
    this.#waiting = [];
    this.#waitingBytes = 0;
  }

  #sizeOf({ prefix, textBytes }: OutgoingFrame): number {
    return FRAME_HEADER_BYTES + (prefix === undefined ? 0 : prefix.length) + textBytes + this.#sealBytes;
  }

  #write({ type, id, prefix, text, textBytes }: OutgoingFrame, all: Buffer, start: number): number {
    const payload = (prefix === undefined ? 0 : prefix.length) + textBytes;
    all.writeUInt32BE(payload, start);
    all.writeUInt8(type, start + 4);
    all.writeUInt32BE(id, start + 5);
    let at = start + FRAME_HEADER_BYTES;
    if (prefix !== undefined) at += prefix.copy(all, at);
    at += all.write(text, at, textBytes, "utf8");
    this.#sealer?.seal(all.subarray(start, at), all, at);
    return at + this.#sealBytes;
  }
}
