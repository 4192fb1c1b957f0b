import type { Readable } from "node:stream";
import type { MemoryLease } from "./guest-memory.ts";

/** Charges what arrives through the streams of one call, and reads them on only when there is room for it. */
export class MeteredOutput {
  readonly #room: MemoryLease;
  readonly #most: number;
  /** Those that wait for room. */
  readonly #paused = new Set<Readable>();
  #mayWait = true;

  /** @param most Bytes that are retained of all streams, at most. What follows is not charged. */
  constructor(room: MemoryLease, most: number) {
    this.#room = room;
    this.#most = most;
  }

  /**
   * Charges what arrives through a stream that others read.
   *
   * @param onRefused Called if there never will be room for it.
   */
  read(stream: Readable, onRefused: () => void): void {
    stream.on("data", (chunk: Buffer) => {
      const bytes = Math.min(chunk.length, this.#most - this.#room.bytes);
      if (bytes > 0 && this.#mayWait && !this.#room.take(bytes)) void this.#wait(stream, bytes, onRefused);
    });
  }

  async #wait(stream: Readable, bytes: number, onRefused: () => void): Promise<void> {
    stream.pause();
    this.#paused.add(stream);
    const hasRoom = await this.#room.wait(bytes);
    if (!this.#paused.delete(stream)) return;
    if (!hasRoom) onRefused();
    stream.resume();
  }

  get isWaiting(): boolean {
    return this.#paused.size > 0;
  }

  /** What the model reads if there was no room. */
  get refusal(): string {
    return this.#room.refusal("the output");
  }

  /** Reads on without room: the call is being stopped, and its output is not needed. */
  stopWaiting(): void {
    this.#mayWait = false;
    for (const stream of this.#paused) stream.resume();
    this.#paused.clear();
  }

  close(): void {
    this.stopWaiting();
    this.#room.close();
  }
}
