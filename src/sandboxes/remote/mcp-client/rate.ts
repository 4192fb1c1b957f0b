/** Bounds how often something happens: so many times in a second, and no more. */
export class Rate {
  readonly #perSecond: number;
  #second = 0;
  #count = 0;

  constructor(perSecond: number) {
    this.#perSecond = perSecond;
  }

  /** Whether it may not happen any more in this second. */
  get isExceeded(): boolean {
    this.#advance();
    return this.#count >= this.#perSecond;
  }

  /** Counts it, and returns whether it may happen. */
  take(): boolean {
    this.#advance();
    return this.#count++ < this.#perSecond;
  }

  /** Whether this is the first time in this second that it may not happen. Call it after {@link take} has returned `false`. */
  get isFirstExcess(): boolean {
    return this.#count === this.#perSecond + 1;
  }

  #advance(): void {
    const second = Math.floor(performance.now() / 1_000);
    if (second === this.#second) return;
    this.#second = second;
    this.#count = 0;
  }
}
