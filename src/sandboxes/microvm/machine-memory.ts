import { FairQueue, type QueueOwner } from "../../base/fair-queue.ts";

interface Waiting {
  readonly owner: QueueOwner;
  readonly bytes: number;
  readonly go: () => void;
}

/** The memory that all machines may take together. The callers of those that wait take turns. */
export class MachineMemory {
  readonly #total: number;
  readonly #waiting = new FairQueue<Waiting>(({ owner }) => owner);
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
   * @param owner For whom. Default: it is not known.
   * @returns whether it was taken: not if the signal was aborted before.
   * @throws {Error} if there will never be as much.
   */
  async take(bytes: number, signal: AbortSignal, owner: QueueOwner = {}): Promise<boolean> {
    if (bytes > this.#total) throw new Error(`a virtual machine needs ${bytes} bytes of memory`);
    if (signal.aborted) return false;
    if (this.tryTake(bytes)) return true;
    return new Promise((resolve) => {
      const waiting: Waiting = {
        owner,
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
    for (let next = this.#waiting.peek(); next !== undefined; next = this.#waiting.peek()) {
      if (this.#used + next.bytes > this.#total) return;
      this.#waiting.next();
      this.#used += next.bytes;
      next.go();
    }
  }
}
