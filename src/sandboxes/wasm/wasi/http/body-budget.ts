/** The bodies of one call's requests and responses take more than they may. */
export class BodyBudgetError extends Error {
  override readonly name = "BodyBudgetError";
}

/**
 * How many bytes of bodies this process may still hold for a call. They lie outside the component's memories,
 * where no other limit counts them.
 */
export class BodyBudget {
  readonly #allowedBytes: number;
  #leftBytes: number;

  /** @param allowedBytes For each call. */
  constructor(allowedBytes: number) {
    this.#allowedBytes = allowedBytes;
    this.#leftBytes = allowedBytes;
  }

  /** @throws {BodyBudgetError} when there is no room for so many bytes. */
  charge(bytes: number): void {
    if (bytes > this.#leftBytes) throw new BodyBudgetError();
    this.#leftBytes -= bytes;
  }

  get leftBytes(): number {
    return this.#leftBytes;
  }

  /** Another call begins. */
  refill(): void {
    this.#leftBytes = this.#allowedBytes;
  }
}
