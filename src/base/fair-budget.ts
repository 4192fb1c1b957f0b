/**
 * A budget that callers share. A single caller may reserve all of it. Every caller may always reserve its guaranteed share,
 * even if the budget is exhausted, so that `total` can be exceeded by one share for each caller. While several callers have
 * reservations, none gets more than an equal part, unless half of the budget is free.
 */
export class FairBudget {
  readonly #total: number;
  readonly #share: number;
  readonly #most: number;
  /** The amount that each caller has reserved; no entry is zero. */
  readonly #reserved = new Map<string, number>();
  #used = 0;

  /**
   * @param share The guaranteed share of each caller. The number of callers must be bounded.
   * @param most The most that one caller may take, even if it is alone. Default: all.
   */
  constructor(total: number, share: number, most: number = total) {
    this.#total = total;
    this.#share = share;
    this.#most = most;
  }

  /** Reserves an amount. Returns `false` if it is not available to this caller now. */
  acquire(caller: string, amount: number): boolean {
    const reserved = this.#reserved.get(caller) ?? 0;
    if (amount > 0) {
      if (!this.#allows(reserved, amount)) return false;
      this.#reserved.set(caller, reserved + amount);
      this.#used += amount;
    }
    return true;
  }

  #allows(reserved: number, amount: number): boolean {
    if (reserved + amount <= this.#share) return true;
    if (reserved + amount > this.#most) return false;
    const used = this.#used + amount;
    if (used > this.#total) return false;
    const callers = this.#reserved.size + (reserved === 0 ? 1 : 0);
    return reserved + amount <= this.#total / callers || used <= this.#total / 2;
  }

  release(caller: string, amount: number): void {
    const reserved = (this.#reserved.get(caller) ?? 0) - amount;
    if (reserved > 0) this.#reserved.set(caller, reserved);
    else this.#reserved.delete(caller);
    this.#used -= amount;
  }
}
