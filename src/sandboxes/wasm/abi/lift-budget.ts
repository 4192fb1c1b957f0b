/** A component handed more over at once than it may. */
export class LiftBudgetError extends Error {
  override readonly name = "LiftBudgetError";
}

/**
 * How much a component may still hand over in this crossing of its border, counted in bytes of JSON text at
 * the least. A list of strings that all point to the same bytes is small inside and endless outside, and
 * nothing else counts it.
 */
export class LiftBudget {
  #allowedBytes: number;
  #leftBytes: number;

  /** @param allowedBytes For each crossing. */
  constructor(allowedBytes: number) {
    this.#allowedBytes = allowedBytes;
    this.#leftBytes = allowedBytes;
  }

  /** Sets how much each crossing may hand over from now on. */
  allow(bytes: number): void {
    this.#allowedBytes = bytes;
    this.#leftBytes = bytes;
  }

  /** Counts what is about to be handed over. */
  charge(bytes: number): void {
    this.#leftBytes -= bytes;
    if (this.#leftBytes < 0) throw new LiftBudgetError();
  }

  /** A crossing begins: what an earlier one handed over is used up. */
  refill(): void {
    this.#leftBytes = this.#allowedBytes;
  }
}
