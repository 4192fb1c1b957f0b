import { MAX_WORK } from "./bounds.ts";

/** A validation would take too much work. */
export class WorkExceededError extends Error {
  override readonly name = "WorkExceededError";
}

/** Counts what a validation costs, where the schema or the value could make it cost too much. */
export class WorkMeter {
  #left: number = MAX_WORK;

  /** Begins a new validation. */
  reset(): void {
    this.#left = MAX_WORK;
  }

  /** What was charged since then. */
  get spent(): number {
    return MAX_WORK - this.#left;
  }

  /** @throws {WorkExceededError} when there was not so much left. */
  charge(work: number): void {
    this.#left -= work;
    if (this.#left < 0) throw new WorkExceededError();
  }
}

/** The meter of the validation under way: validating is synchronous, so there is never more than one. */
export const meter: WorkMeter = new WorkMeter();
