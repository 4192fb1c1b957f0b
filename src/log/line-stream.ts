import type { Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";

/** Bytes of lines that may wait for a slow reader. */
const MAX_WAITING_BYTES = 1_024 * 1_024;
/** How long {@link LineStream.flush} waits for a slow reader. */
const FLUSH_MS = 1_000;

/**
 * Writes lines to a stream without waiting for its reader. Lines that come while too many bytes wait are lost, and are
 * counted.
 */
export class LineStream {
  readonly #stream: Writable;
  readonly #onLost: (count: number) => string;
  #lost = 0;

  /** @param onLost Returns the line that says how many lines were lost. */
  constructor(stream: Writable, onLost: (count: number) => string) {
    this.#stream = stream;
    this.#onLost = onLost;
  }

  /** Writes a line, or counts it as lost. */
  write(line: string): void {
    if (!this.#stream.writable) return;
    if (this.#lost > 0 || this.#isFull) this.#lose();
    else this.#stream.write(`${line}\n`);
  }

  /** Resolves when everything is written, or the reader has been too slow for a second. */
  async flush(): Promise<void> {
    const waited = new AbortController();
    const tooLate = delay(FLUSH_MS, undefined, { signal: waited.signal }).catch(() => {});
    // The line that tells of lost ones is written when all the others are.
    await Promise.race([this.#written().then(() => this.#written()), tooLate]);
    waited.abort();
  }

  #written(): Promise<void> {
    if (!this.#stream.writable) return Promise.resolve();
    return new Promise((resolve) => {
      this.#stream.write("", () => resolve());
    });
  }

  get #isFull(): boolean {
    return this.#stream.writableLength > MAX_WAITING_BYTES;
  }

  #lose(): void {
    if (this.#lost++ === 0) this.#stream.once("drain", this.#tellLost);
  }

  readonly #tellLost = (): void => {
    const count = this.#lost;
    this.#lost = 0;
    this.#stream.write(`${this.#onLost(count)}\n`);
  };
}
