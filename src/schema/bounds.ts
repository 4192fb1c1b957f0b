import type { JsonBounds } from "../json/refusal.ts";
import type { JsonObject } from "../json/value.ts";

/** The bounds of a schema as a document. */
export const SCHEMA_BOUNDS: JsonBounds = Object.freeze({
  length: 1_024 * 1_024,
  values: 50_000,
  members: 20_000,
});

/** The maximum number of levels of schemas within schemas. */
export const MAX_SCHEMA_DEPTH = 64;

/** The maximum length of an `$id` or an anchor, which every reference and `$id` below it is joined with. */
export const MAX_ID_LENGTH = 512;

/** The maximum number of `$dynamicAnchor`s: each schema with a resource of its own is entered with all of them. */
export const MAX_DYNAMIC_ANCHORS = 64;

/** The maximum number of keywords and properties. Annotations and unused definitions do not count. */
export const MAX_KEYWORDS = 5_000;

/**
 * The largest schema, in keywords, that is compiled. Each keyword takes up to 0.1 ms on a slow machine, so a whole schema
 * takes less than 50 ms. Larger ones are interpreted.
 */
export const MAX_COMPILED_KEYWORDS = 500;

/**
 * The work of interpreting values, in keywords, after which a schema is compiled. That takes as long for a small one, and of
 * thousands of tools few are called.
 */
export const MAX_INTERPRETED_WORK = 1_000;

/** The maximum cost of compiling a schema's patterns, in units of about 10 µs: 40 ms for a whole schema. */
export const MAX_PATTERN_COMPILATION = 4_000;

/** The maximum number of keywords that apply to one value. A chain of references can double them at each link. */
export const MAX_KEYWORDS_PER_VALUE = 10_000;

/**
 * The maximum work of one validation, in keywords of 0.1 to 0.3 µs. The cost of recursion, long lists and patterns is
 * charged during the validation.
 */
export const MAX_WORK = 200_000;

/** The largest schema, in keywords, for which all errors of a value are collected, and not only the first one. */
export const MAX_EXPLAINED_KEYWORDS = 200;

/** The same limit in values times keywords, and in work: a list of 100,000 items must not have as many errors. */
export const MAX_EXPLAINED_WORK = 50_000;

/** The work of listing a member of an object: much more than that of an item, as its name has to be found. */
const MEMBER_WORK = 1.5;

/** A validation takes more work than it may. */
export class WorkExceededError extends Error {
  override readonly name = "WorkExceededError";
}

/** Counts the cost of a validation where the schema or the value could make it expensive. */
class WorkMeter {
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
