/** The steps that a server takes, at one of which it is killed. */
export class Steps {
  /** The steps that were taken, in order: `NAME 1`, `NAME 2`. The last one is that at which the server was killed, if it was. */
  readonly taken: string[] = [];
  readonly #isLast: (step: string, number: number) => boolean;
  readonly #kill: () => void;
  readonly #counts = new Map<string, number>();
  #last = "";
  #isKilled = false;

  /**
   * @param isLast Whether the server is killed at a step, whose number among all is from 1.
   * @param kill Ends the process at once.
   */
  constructor(isLast: (step: string, number: number) => boolean, kill: () => void) {
    this.#isLast = isLast;
    this.#kill = kill;
  }

  /** Whether the server was killed. */
  get isKilled(): boolean {
    return this.#isKilled;
  }

  /** Returns whether the step is taken. Nothing of a server that was killed arrives any more. */
  take(name: string): boolean {
    if (this.#isKilled) return false;
    // What Restate sends at once arrives in several pieces.
    if (name.endsWith("<") && this.#last === name) return true;
    this.#last = name;
    const count = (this.#counts.get(name) ?? 0) + 1;
    this.#counts.set(name, count);
    const step = `${name} ${count}`;
    this.taken.push(step);
    this.#isKilled = this.#isLast(step, this.taken.length);
    if (this.#isKilled) this.#kill();
    return !this.#isKilled;
  }
}
