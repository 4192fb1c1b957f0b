interface Waiting {
  readonly bytes: number;
  readonly go: () => void;
}

/** The memory that all machines may take together. Those that wait get it in the order in which they came. */
export class MachineMemory {
  readonly #total: number;
  readonly #waiting = new Set<Waiting>();
  #used = 0;

  constructor(total: number) {
    this.#total = total;
  }

  /** Whether some machine waits. */
  get isWaitedFor(): boolean {
    return this.#waiting.size > 0;
  }

  /** Takes memory if it is free and none waits for it. Returns whether it was taken. */
  tryTake(bytes: number): boolean {
    if (this.isWaitedFor || this.#used + bytes > this.#total) return false;
    this.#used += bytes;
    return true;
  }

  /**
   * Waits for memory.
   *
   * @returns whether it was taken: not if the signal was aborted before.
   * @throws {Error} if there will never be as much.
   */
  async take(bytes: number, signal: AbortSignal): Promise<boolean> {
    if (bytes > this.#total) throw new Error(`a virtual machine needs ${bytes} bytes of memory`);
    if (signal.aborted) return false;
    if (this.tryTake(bytes)) return true;
    return new Promise((resolve) => {
      const waiting: Waiting = {
        bytes,
        go: () => {
          signal.removeEventListener("abort", abort);
          resolve(true);
        },
      };
      const abort = (): void => {
        this.#waiting.delete(waiting);
        resolve(false);
        // Those behind it may need less.
        this.giveBack(0);
      };
      signal.addEventListener("abort", abort, { once: true });
      this.#waiting.add(waiting);
    });
  }

  giveBack(bytes: number): void {
    this.#used -= bytes;
    for (const waiting of this.#waiting) {
      if (this.#used + waiting.bytes > this.#total) return;
      this.#waiting.delete(waiting);
      this.#used += waiting.bytes;
      waiting.go();
    }
  }
}
