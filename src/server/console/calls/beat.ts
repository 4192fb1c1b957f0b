import { WaitingReaders } from "../../waiting-readers.ts";

/** Milliseconds between two beats: readers get the changes of that time together. */
const BEAT_MS = 100;

/** Wakes readers some time after a change, so that many changes wake them once. A change costs the same for any number of them. */
export class Beat {
  #version = 0;
  readonly #readers = new WaitingReaders();
  #isScheduled = false;

  /** Counts the changes. */
  get version(): number {
    return this.#version;
  }

  /** Something has changed. */
  change(): void {
    this.#version++;
    if (!this.#readers.isEmpty) this.#schedule();
  }

  /**
   * Waits until something has changed since a version, or the signal is aborted.
   *
   * @returns `true` if that took too long.
   */
  wait(since: number, signal: AbortSignal, maxMs: number): Promise<boolean> {
    const waiting = this.#readers.wait(signal, maxMs);
    if (!signal.aborted && since !== this.#version) this.#schedule();
    return waiting;
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setTimeout(() => {
      this.#isScheduled = false;
      this.#readers.wake();
    }, BEAT_MS).unref();
  }
}
