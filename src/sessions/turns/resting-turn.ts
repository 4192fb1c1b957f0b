/** A turn with no call under way. */
interface Resting {
  /** Gives up what only calls under way need. */
  rest(): void;
}

/**
 * The turn whose last call ended most recently. It is likely to make the next call too, and creating an abort signal takes
 * as long as a fifth of a call, so that only the turns before it give up theirs.
 */
export class RestingTurn {
  #turn: Resting | undefined;

  add(turn: Resting): void {
    if (turn === this.#turn) return;
    this.#turn?.rest();
    this.#turn = turn;
  }
}
