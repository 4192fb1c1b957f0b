/** The bodies of one call's requests and responses take more than they may. */
export class BodyBudgetError extends Error {
  override readonly name = "BodyBudgetError";
}

/**
 * How many bytes of bodies this process may still hold for a call. They lie outside the component's memories,
 * where no other limit counts them, and no longer than the call, though its instance may live on.
 */
export class BodyBudget {
  readonly #allowedBytes: number;
  #leftBytes: number;
  #held: (() => void)[] = [];

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

  /** @param letGo Lets a body go, when its call is over. */
  hold(letGo: () => void): void {
    this.#held.push(letGo);
  }

  /** Another call begins: the bodies of the one before are let go. */
  refill(): void {
    for (const letGo of this.#held) letGo();
    this.#held = [];
    this.#leftBytes = this.#allowedBytes;
  }
}
