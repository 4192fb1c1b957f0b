/** Readers that wait until something happens. */
export class WaitingReaders {
  readonly #waiting = new Set<() => void>();

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  /**
   * Waits until the readers are woken, or the signal is aborted.
   *
   * @returns `true` if that took too long.
   */
  wait(signal: AbortSignal, maxMs: number): Promise<boolean> {
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
    return promise;
  }

  wake(): void {
    for (const wake of [...this.#waiting]) wake();
  }
}
