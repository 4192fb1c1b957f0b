/** The schema of the argument `path` of the tools that search. */
export const SEARCH_PATH = {
  type: "string",
  minLength: 1,
  description: "The directory or file to search, relative to the workspace. Default: the workspace",
} as const;

/** The schema of the argument `limit`. */
export const LIMIT = {
  type: "integer",
  minimum: 1,
  maximum: 1_000,
  description: "The most results. Default: 200",
} as const;

/** How many results a call gets by default. */
export const DEFAULT_MATCHES = 200;

/** The schema of the argument `offset`. */
export const OFFSET = {
  type: "integer",
  minimum: 0,
  maximum: 10_000,
  description: "How many results to skip, to go on after those of another call. Default: 0",
} as const;

/** The longest glob, pattern or symbol, in UTF-16 code units. */
export const MAX_PATTERN_LENGTH = 1_024;

/** What descriptions say of the files that are searched. */
export const SEARCHED =
  "Skips .git and what .gitignore files name, and follows no links; other hidden files are searched.";

/**
 * Says that there are more results than a call may return.
 *
 * @param end How many there are to the last one that is returned, with those that were skipped. Absent: a call cannot skip some.
 */
export function moreThan(limit: number, narrower: string, end?: number): string {
  const raise = limit < LIMIT.maximum ? `, or raise limit to at most ${LIMIT.maximum}` : "";
  const next = end === undefined || end > OFFSET.maximum ? "" : `, or go on with offset ${end}`;
  return `There are more results after number ${end ?? limit}. ${narrower}${raise}${next}.`;
}
