/** Something that several users have, one after the other, and that is closed by the last of them. */
export class Shared<T> {
  readonly value: T;
  readonly #close: (value: T) => Promise<void>;
  #users = 1;

  /** @param close Called once, when the last user has released it. */
  constructor(value: T, close: (value: T) => Promise<void>) {
    this.value = value;
    this.#close = close;
  }

  retain(): this {
    this.#users++;
    return this;
  }

  async release(): Promise<void> {
    if (--this.#users === 0) await this.#close(this.value);
  }
}
