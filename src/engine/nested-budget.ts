/**
 * How many calls a call's tool may make, directly and through the tools that it calls. The budgets of nested calls form
 * a tree: a call counts against every call above it.
 */
export class NestedBudget {
  readonly #limit: number;
  readonly #parent: NestedBudget | undefined;
  #used = 0;

  /**
   * @param limit The limit `nestedCalls` of the call. Default: only the calls above limit it.
   * @param parent The budget of the call whose tool makes this one; `undefined` for a call of the model.
   */
  constructor(limit: number | undefined, parent: NestedBudget | undefined) {
    this.#limit = limit ?? Number.POSITIVE_INFINITY;
    this.#parent = parent;
  }

  /** How many calls were made in the tree below this call. */
  get used(): number {
    return this.#used;
  }

  /** How many more calls can be made; `Infinity` if nothing limits them. */
  get left(): number {
    return Math.min(this.#limit - this.#used, this.#parent?.left ?? Number.POSITIVE_INFINITY);
  }

  /** Counts one call. Returns `false` if the budget, or one above, is used up. */
  take(): boolean {
    if (this.left < 1) return false;
    this.#count();
    return true;
  }

  /** Counts calls that were made before the call was suspended, those above it not. */
  restore(calls: number): void {
    this.#used = calls;
  }

  #count(): void {
    this.#used++;
    if (this.#parent !== undefined) this.#parent.#count();
  }
}
