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

/** The most matches that a call can ask for, and how many it gets by default. */
export const MAX_MATCHES: number = LIMIT.maximum;
export const DEFAULT_MATCHES = 200;

/** The longest glob, pattern or symbol, in UTF-16 code units. */
export const MAX_PATTERN_LENGTH = 1_024;

/** What descriptions say of the files that are searched. */
export const SEARCHED =
  "Skips .git and what .gitignore files name, and follows no links; other hidden files are searched.";

/** Says that there are more results than a call may return. */
export function moreThan(limit: number, narrower: string): string {
  const raise = limit < MAX_MATCHES ? `, or raise limit to at most ${MAX_MATCHES}` : "";
  return `There are more than the ${limit} results that are shown. ${narrower}${raise}.`;
}
