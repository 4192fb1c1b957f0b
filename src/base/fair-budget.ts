/**
 * A budget that callers share. A caller alone may take all of it. A caller that comes while others hold everything
 * still gets its guaranteed share at once, so that `total` can be exceeded by one such share for each caller. As long
 * as several callers hold something, none gets more than an equal part, unless half of the budget is free.
 */
export class FairBudget {
  readonly #total: number;
  readonly #share: number;
  readonly #most: number;
  /** What each caller holds; no entry is zero. */
  readonly #held = new Map<string, number>();
  #used = 0;

  /**
   * @param share The guaranteed share of each caller. The number of callers must be bounded.
   * @param most The most that one caller may take, also if it is alone. Default: all.
   */
  constructor(total: number, share: number, most: number = total) {
    this.#total = total;
    this.#share = share;
    this.#most = most;
  }

  /** Takes an amount; returns `false` if it is not available for this caller now. */
  take(caller: string, amount: number): boolean {
    const held = this.#held.get(caller) ?? 0;
    if (amount > 0) {
      if (!this.#allows(held, amount)) return false;
      this.#held.set(caller, held + amount);
      this.#used += amount;
    }
    return true;
  }

  #allows(held: number, amount: number): boolean {
    if (held + amount <= this.#share) return true;
    if (held + amount > this.#most) return false;
    const used = this.#used + amount;
    if (used > this.#total) return false;
    const callers = this.#held.size + (held === 0 ? 1 : 0);
    return held + amount <= this.#total / callers || used <= this.#total / 2;
  }

  giveBack(caller: string, amount: number): void {
    const held = (this.#held.get(caller) ?? 0) - amount;
    if (held > 0) this.#held.set(caller, held);
    else this.#held.delete(caller);
    this.#used -= amount;
  }
}
