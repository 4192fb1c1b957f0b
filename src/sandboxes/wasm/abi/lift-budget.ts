/** A component passed more data to the host than it may. */
export class LiftBudgetError extends Error {
  override readonly name = "LiftBudgetError";
  /** The limit of the call that was exceeded. */
  readonly limit: "memoryBytes" | "outputBytes";

  constructor(limit: "memoryBytes" | "outputBytes") {
    super();
    this.limit = limit;
  }
}

/**
 * The maximum number of items of a list or a table that the host makes for a component, except for lists of bytes. V8
 * ends the process, not only the thread, if an array that grows does not fit in the thread's heap.
 */
export const MAX_ITEMS = 1_000_000;

/** @throws {LiftBudgetError} if there are too many items. */
export function checkItems(count: number): void {
  if (count > MAX_ITEMS) throw new LiftBudgetError("memoryBytes");
}

/** Limits of a {@link LiftBudget}. */
export interface LiftLimits {
  /** The maximum size of all values that the host holds at a time, in bytes. */
  readonly memoryBytes: number;
  /** The maximum length of the values of one crossing, as a lower bound of their JSON text in bytes. */
  readonly textBytes: number;
}

/**
 * Limits the memory that a component can make the host allocate by passing values to it. The size of the component's
 * memories does not limit it: a list whose items all point to the same bytes is small in the component's memory but can
 * be huge on the host. Values are charged before they are allocated.
 */
export class LiftBudget {
  #limits: LiftLimits;
  #crossingBytes = 0;
  #heldBytes = 0;
  #textBytes = 0;

  constructor(limits: LiftLimits) {
    this.#limits = limits;
  }

  /** Starts a call with new limits. Data that the host still holds stays charged. */
  allow(limits: LiftLimits): void {
    this.#limits = limits;
    this.#crossingBytes = 0;
    this.#textBytes = 0;
  }

  /** The memory limit of the current call, in bytes. */
  get memoryBytes(): number {
    return this.#limits.memoryBytes;
  }

  /** Starts a crossing: a call or a return that passes values to the host. Returns what to pass to {@link end}. */
  begin(): number {
    this.#textBytes = 0;
    return this.#crossingBytes;
  }

  /** Ends a crossing, the values of which are no longer used. */
  end(begun: number): void {
    this.#crossingBytes = begun;
  }

  /**
   * Charges values that are about to be allocated, until their crossing ends.
   *
   * @param textBytes The minimum length of their JSON text in bytes.
   * @throws {LiftBudgetError} if a limit is exceeded.
   */
  charge(bytes: number, textBytes = 0): void {
    this.#crossingBytes += bytes;
    if (this.#crossingBytes + this.#heldBytes > this.#limits.memoryBytes) {
      throw new LiftBudgetError("memoryBytes");
    }
    this.#textBytes += textBytes;
    if (this.#textBytes > this.#limits.textBytes) throw new LiftBudgetError("outputBytes");
  }

  /**
   * Charges data that the host holds beyond the crossing, until it is released.
   *
   * @throws {LiftBudgetError} if the memory limit is exceeded.
   */
  hold(bytes: number): void {
    this.#heldBytes += bytes;
    this.charge(0);
  }

  /** Returns the charge for data that the host no longer holds. */
  release(bytes: number): void {
    this.#heldBytes -= bytes;
  }

  /** Returns the charges for everything, because the instance and its resources are gone. */
  reset(): void {
    this.#crossingBytes = 0;
    this.#heldBytes = 0;
  }
}
