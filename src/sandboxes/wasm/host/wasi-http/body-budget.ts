import type { LiftBudget } from "../../abi/lift-budget.ts";

/** Memory of the host for one resource of a component. It counts against the memory limit of the call. */
export class ReservedMemory {
  readonly #budget: LiftBudget;
  #bytes = 0;

  constructor(budget: LiftBudget) {
    this.#budget = budget;
  }

  /** @throws {LiftBudgetError} if the memory limit is exceeded. */
  add(bytes: number): void {
    this.#budget.reserve(bytes);
    this.#bytes += bytes;
  }

  /** Releases everything that was reserved. */
  free(): void {
    this.#budget.release(this.#bytes);
    this.#bytes = 0;
  }
}

/** The bodies of a call's requests and responses exceed their limit. */
export class BodyBudgetError extends Error {
  override readonly name = "BodyBudgetError";
}

/**
 * Limits how many bytes of bodies the host buffers for a call. Bodies are outside the component's memories,
 * so no other limit counts them. They are released when the call ends, even if its instance is retained.
 */
export class BodyBudget {
  readonly #allowedBytes: number;
  #leftBytes: number;
  #releases: (() => void)[] = [];

  /** @param allowedBytes The limit for each call. */
  constructor(allowedBytes: number) {
    this.#allowedBytes = allowedBytes;
    this.#leftBytes = allowedBytes;
  }

  /** @throws {BodyBudgetError} if the bytes exceed the remaining budget. */
  charge(bytes: number): void {
    if (bytes > this.#leftBytes) throw new BodyBudgetError();
    this.#leftBytes -= bytes;
  }

  get leftBytes(): number {
    return this.#leftBytes;
  }

  /** @param release Releases a body. Called when its call has ended. */
  onEnd(release: () => void): void {
    this.#releases.push(release);
  }

  /** Starts another call, and releases the bodies of the previous one. */
  refill(): void {
    for (const release of this.#releases) release();
    this.#releases = [];
    this.#leftBytes = this.#allowedBytes;
  }
}
