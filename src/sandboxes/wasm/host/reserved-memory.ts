import type { LiftBudget } from "../abi/lift-budget.ts";

/** Memory that the host holds for one resource of a component. It counts against the memory limit of the call. */
export class ReservedMemory {
  readonly #budget: LiftBudget;
  #bytes = 0;

  constructor(budget: LiftBudget) {
    this.#budget = budget;
  }

  /** @throws {LiftBudgetError} if the memory limit is exceeded. */
  add(bytes: number): void {
    this.#budget.hold(bytes);
    this.#bytes += bytes;
  }

  /** The resource no longer holds anything. */
  free(): void {
    this.#budget.release(this.#bytes);
    this.#bytes = 0;
  }
}
