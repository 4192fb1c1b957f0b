import { FairQueue } from "../../base/fair-queue.ts";

/** How many compilers run at once. */
const AT_ONCE = 2;

/** How many programs of one caller wait for a compiler. */
const MAX_WAITING = 16;

interface Waiting {
  readonly caller: string | undefined;
  readonly go: () => void;
}

/** Has programs wait for a compiler. Callers take turns: the programs of one do not keep those of another from being checked. */
export class CompilerTurns {
  readonly #waiting = new FairQueue<Waiting>(({ caller }) => ({ principal: caller }));
  /** How many programs of each caller wait; no entry is zero. */
  readonly #counts = new Map<string | undefined, number>();
  #running = 0;

  /**
   * Compiles something when it is the caller's turn.
   *
   * @returns what `compile` returns; `undefined` if too many programs of the caller wait.
   */
  async run<Result>(caller: string | undefined, compile: () => Promise<Result>): Promise<Result | undefined> {
    if (this.#running < AT_ONCE) this.#running++;
    else if ((this.#counts.get(caller) ?? 0) >= MAX_WAITING) return undefined;
    else await this.#turn(caller);
    try {
      return await compile();
    } finally {
      this.#next();
    }
  }

  #turn(caller: string | undefined): Promise<void> {
    this.#counts.set(caller, (this.#counts.get(caller) ?? 0) + 1);
    return new Promise((go) => this.#waiting.add({ caller, go }));
  }

  /** Gives the place of a program that has been checked to the next one. */
  #next(): void {
    const next = this.#waiting.next();
    if (next === undefined) {
      this.#running--;
      return;
    }
    const { caller, go } = next;
    const left = (this.#counts.get(caller) ?? 1) - 1;
    if (left > 0) this.#counts.set(caller, left);
    else this.#counts.delete(caller);
    go();
  }
}
