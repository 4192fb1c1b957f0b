import { AbiError } from "./value.ts";

/**
 * Tracks which component instances have a call in progress (`CanonicalABI.md`, `may_enter_from`). A call enters the
 * instance that it calls and all instances that contain it, except for those that contain its caller: these have been
 * entered before. An instance that has been entered must not be entered again.
 */
export class EnteredInstances {
  readonly #parents: readonly (number | undefined)[];
  readonly #entered = new Set<number>();

  /** @param parents For each component instance, the index of the one that contains it. */
  constructor(parents: readonly (number | undefined)[]) {
    this.#parents = parents;
  }

  /**
   * Starts a call.
   *
   * @param caller `undefined` for the host.
   * @throws {AbiError} if it must not enter an instance.
   */
  enter(callee: number, caller: number | undefined): void {
    for (let each: number | undefined = callee; each !== undefined; each = this.#parents[each]) {
      if (this.#contains(each, caller)) return;
      if (this.#entered.has(each))
        throw new AbiError("it called a component instance that waits for this call");
      this.#entered.add(each);
    }
  }

  /** Ends a call. */
  leave(callee: number, caller: number | undefined): void {
    for (let each: number | undefined = callee; each !== undefined; each = this.#parents[each]) {
      if (this.#contains(each, caller)) return;
      this.#entered.delete(each);
    }
  }

  /** Whether an instance is `inner` or contains it. */
  #contains(outer: number, inner: number | undefined): boolean {
    for (let each = inner; each !== undefined; each = this.#parents[each]) if (each === outer) return true;
    return false;
  }
}
