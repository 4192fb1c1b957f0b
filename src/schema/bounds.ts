import type { JsonBounds } from "../json/bounds.ts";

/** The bounds of a schema as a document. */
export const SCHEMA_BOUNDS: JsonBounds = Object.freeze({
  length: 1_024 * 1_024,
  values: 50_000,
  members: 20_000,
});

/** Levels of schemas within schemas. */
export const MAX_SCHEMA_DEPTH = 64;

/**
 * Keywords and properties that have to be compiled; annotations, and definitions that nothing refers to, are
 * not counted. One takes up to 0.1 ms on a slow machine: a whole schema stays below 50 ms.
 */
export const MAX_KEYWORDS = 500;

/** Keywords that one value may take, counted through every reference: a chain of them can double at each link. */
export const MAX_KEYWORDS_PER_VALUE = 10_000;

/**
 * Work that one validation may take, in keywords of 0.1 to 0.3 µs: what recursion, long lists and patterns cost
 * is counted while it is done.
 */
export const MAX_WORK = 200_000;

/** The longest pattern, in UTF-16 code units. */
export const MAX_PATTERN_LENGTH = 1_024;

/** The largest pattern, each repetition written out: `(ab){3}` is 6. */
export const MAX_PATTERN_SIZE = 2_000;

/** Keywords up to which all errors of a value are looked for, and not just the first one. */
export const MAX_EXPLAINED_KEYWORDS = 200;

/** The same in values times keywords, and in work: not one error for each of a hundred thousand items. */
export const MAX_EXPLAINED_WORK = 50_000;
