import { matchesWildcard, STAR, type Wildcard } from "./wildcard.ts";

/**
 * The syntax of a pattern of tool names: the characters of tool names, and `*`, which matches any number of
 * them.
 */
export const NAME_PATTERN = "^[A-Za-z0-9_*-]{1,128}$";

/** A pattern of tool names. */
export interface NamePattern {
  /** Whether the pattern is the name of one tool. */
  readonly isLiteral: boolean;
  matches(name: string): boolean;
}

/** Compiles a pattern of tool names. Matching is case-sensitive. */
export function compileNamePattern(pattern: string): NamePattern {
  const isLiteral = !pattern.includes("*");
  const wildcard: Wildcard = isLiteral ? pattern : Array.from(pattern, (c) => (c === "*" ? STAR : c));
  return { isLiteral, matches: (name) => matchesWildcard(wildcard, name) };
}
