import type { JsonObject } from "../json/value.ts";
import { MAX_WORK } from "./bounds.ts";

/** A validation takes more work than it may. */
export class WorkExceededError extends Error {
  override readonly name = "WorkExceededError";
}

/** The work of listing a member of an object: much more than that of an item, as its name has to be found. */
const MEMBER_WORK = 1.5;

/** Counts the cost of a validation where the schema or the value could make it expensive. */
export class WorkMeter {
  #most: number = MAX_WORK;
  #left: number = MAX_WORK;

  /** Starts a new validation, with the most work that it may take. */
  reset(most: number = MAX_WORK): void {
    this.#most = most;
    this.#left = most;
  }

  /** The work charged since the last reset. */
  get spent(): number {
    return this.#most - this.#left;
  }

  /**
   * Returns the number of members of an object.
   *
   * @throws {WorkExceededError} if less work was left than listing them takes.
   */
  countMembers(value: JsonObject): number {
    const { length } = Object.keys(value);
    this.charge(length * MEMBER_WORK);
    return length;
  }

  /** @throws {WorkExceededError} if less work than this was left. */
  charge(work: number): void {
    this.#left -= work;
    if (this.#left < 0) throw new WorkExceededError();
  }
}

/** The meter of the current validation. Validating is synchronous, so there is never more than one. */
export const meter: WorkMeter = new WorkMeter();
