/** The steps that a server takes, at one of which it is killed. */
export class Steps {
  /** The steps that were taken, in order. The last one is that at which the server was killed, if it was. */
  readonly taken: string[] = [];
  readonly #killAt: number;
  readonly #kill: () => void;
  #isKilled = false;

  /**
   * @param killAt The number of the step at which the server is killed, from 1.
   * @param kill Ends the process at once.
   */
  constructor(killAt: number, kill: () => void) {
    this.#killAt = killAt;
    this.#kill = kill;
  }

  /** Whether the server was killed. */
  get isKilled(): boolean {
    return this.#isKilled;
  }

  /** Returns whether the step is taken. Nothing of a server that was killed arrives any more. */
  take(step: string): boolean {
    if (this.#isKilled) return false;
    // What Restate sends at once arrives in several pieces.
    if (step.endsWith("<") && this.taken.at(-1) === step) return true;
    this.taken.push(step);
    this.#isKilled = this.taken.length === this.#killAt;
    if (this.#isKilled) this.#kill();
    return !this.#isKilled;
  }
}
