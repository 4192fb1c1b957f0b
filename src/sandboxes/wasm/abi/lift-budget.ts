/** A component passed more data to the host in one call than it may. */
export class LiftBudgetError extends Error {
  override readonly name = "LiftBudgetError";
}

/**
 * Limits how much data a component can pass to the host in one call or return, as a lower bound of its size in bytes of
 * JSON text. No other limit covers it: a list whose strings all point to the same bytes is small in the component's
 * memory but can be huge on the host.
 */
export class LiftBudget {
  #allowedBytes: number;
  #leftBytes: number;

  /** @param allowedBytes The budget for each call or return. */
  constructor(allowedBytes: number) {
    this.#allowedBytes = allowedBytes;
    this.#leftBytes = allowedBytes;
  }

  /** Changes the budget for each call or return from now on. */
  allow(bytes: number): void {
    this.#allowedBytes = bytes;
    this.#leftBytes = bytes;
  }

  /**
   * Charges data that is about to be passed to the host.
   *
   * @throws {LiftBudgetError} if the budget is exceeded.
   */
  charge(bytes: number): void {
    this.#leftBytes -= bytes;
    if (this.#leftBytes < 0) throw new LiftBudgetError();
  }

  /** Resets the budget when a call or return begins. */
  refill(): void {
    this.#leftBytes = this.#allowedBytes;
  }
}
