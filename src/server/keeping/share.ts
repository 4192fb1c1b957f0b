/** The bytes of the turns of one session, of one principal, or of all. */
export class Share<Turn> {
  readonly #max: number;
  /** The turns without a message under way. The one that was used last is the last. */
  readonly #idle = new Set<Turn>();
  #bytes = 0;

  constructor(max: number) {
    this.#max = max;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get isExceeded(): boolean {
    return this.#bytes > this.#max;
  }

  add(bytes: number): void {
    this.#bytes += bytes;
  }

  /** The turn to forget first; `undefined` if every turn has a message under way. */
  get oldestIdle(): Turn | undefined {
    return this.#idle.values().next().value;
  }

  setIdle(turn: Turn, isIdle: boolean): void {
    this.#idle.delete(turn);
    if (isIdle) this.#idle.add(turn);
  }
}
