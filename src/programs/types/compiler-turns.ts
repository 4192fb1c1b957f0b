/** How many compilers run at once. */
const AT_ONCE = 2;

/** How many programs of one caller wait for a compiler. */
const MAX_WAITING = 16;

/** Has programs wait for a compiler. Callers take turns: the programs of one do not keep those of another from being checked. */
export class CompilerTurns {
  /** By caller, in the order of their turns. No list is empty. */
  readonly #waiting = new Map<string | undefined, (() => void)[]>();
  #running = 0;

  /**
   * Compiles something when it is the caller's turn.
   *
   * @returns what `compile` returns; `undefined` if too many programs of the caller wait.
   */
  async run<Result>(caller: string | undefined, compile: () => Promise<Result>): Promise<Result | undefined> {
    if (this.#running < AT_ONCE) this.#running++;
    else if ((this.#waiting.get(caller)?.length ?? 0) >= MAX_WAITING) return undefined;
    else await this.#turn(caller);
    try {
      return await compile();
    } finally {
      this.#next();
    }
  }

  #turn(caller: string | undefined): Promise<void> {
    return new Promise((go) => {
      const waiting = this.#waiting.get(caller);
      if (waiting === undefined) this.#waiting.set(caller, [go]);
      else waiting.push(go);
    });
  }

  /** Gives the place of a program that has been checked to the next one. */
  #next(): void {
    const [first] = this.#waiting;
    if (first === undefined) {
      this.#running--;
      return;
    }
    const [caller, waiting] = first;
    const go = waiting.shift();
    this.#waiting.delete(caller);
    if (waiting.length > 0) this.#waiting.set(caller, waiting);
    go?.();
  }
}
