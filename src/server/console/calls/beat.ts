/** Milliseconds between two beats: readers get the changes of that time together. */
const BEAT_MS = 100;

/** Wakes readers some time after a change, so that many changes wake them once. A change costs the same for any number of them. */
export class Beat {
  #version = 0;
  readonly #waiting = new Set<() => void>();
  #isScheduled = false;

  /** Counts the changes. */
  get version(): number {
    return this.#version;
  }

  /** Something has changed. */
  change(): void {
    this.#version++;
    if (this.#waiting.size > 0) this.#schedule();
  }

  /**
   * Waits until something has changed since a version, or the signal is aborted.
   *
   * @returns `true` if that took too long.
   */
  wait(since: number, signal: AbortSignal, maxMs: number): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const end = (isLate: boolean): void => {
      clearTimeout(timer);
      this.#waiting.delete(wake);
      signal.removeEventListener("abort", wake);
      resolve(isLate);
    };
    const wake = (): void => end(false);
    const timer = setTimeout(() => end(true), maxMs);
    this.#waiting.add(wake);
    signal.addEventListener("abort", wake);
    if (signal.aborted) wake();
    else if (since !== this.#version) this.#schedule();
    return promise;
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setTimeout(() => {
      this.#isScheduled = false;
      for (const wake of [...this.#waiting]) wake();
    }, BEAT_MS).unref();
  }
}
