import { matchesSequence, matchesWildcard, STAR, type Token, type Wildcard } from "./wildcard.ts";

/**
 * The syntax of a pattern of tool names: the characters of tool names, and `*`, which matches any number of
 * them. `\*` is a star in a name, and `\\` a backslash.
 */
export const NAME_PATTERN = "^(?:[^\\\\\\s\\p{C}\\p{Z}]|\\\\[*\\\\]){1,256}$";

/** A pattern of names. */
export interface NamePattern {
  /** The only name that the pattern matches; `undefined` if it has a star. */
  readonly literal: string | undefined;
  matches(name: string): boolean;
}

/** Returns the pattern that matches one name only. */
export function escapeName(name: string): string {
  return name.replace(/[\\*]/g, "\\$&");
}

/** Compiles a pattern of names. Matching is case-sensitive. */
export function compileNamePattern(pattern: string): NamePattern {
  const wildcard = parse(pattern);
  if (typeof wildcard === "string") return { literal: wildcard, matches: (name) => name === wildcard };
  const prefix = prefixOf(wildcard);
  const matches = (name: string): boolean =>
    prefix === undefined ? matchesWildcard(wildcard, name) : name.startsWith(prefix);
  return { literal: undefined, matches };
}

/** What a name has to begin with, if that is all that the pattern says, as most do: comparing it is much faster. */
function prefixOf(wildcard: Exclude<Wildcard, string>): string | undefined {
  if (wildcard.indexOf(STAR) !== wildcard.length - 1) return undefined;
  const characters = wildcard.slice(0, -1);
  const prefix = characters.join("");
  return characters.every((token) => typeof token === "string") && !SURROGATE.test(prefix)
    ? prefix
    : undefined;
}

/** A part of a name's character must not match the whole one. */
const SURROGATE = /[\uD800-\uDFFF]/;

/**
 * Whether `outer` matches every name that `inner` matches. A star of `inner` is within a star of `outer` only,
 * so patterns that merely overlap are not within each other.
 */
export function isWithinNamePattern(inner: string, outer: string): boolean {
  return matchesSequence(
    [...parse(outer)],
    [...parse(inner)],
    (token) => token === STAR,
    (token, other) => token === other,
  );
}

/** A backslash before any other character stands for itself, as the capabilities of a grant can hold any text. */
function parse(pattern: string): Wildcard {
  if (!/[*\\]/.test(pattern)) return pattern;
  const tokens = Array.from(pattern.matchAll(/\\([*\\])|./gsu), ([text, escaped]): Token => {
    return escaped ?? (text === "*" ? STAR : text);
  });
  return tokens.every((token) => typeof token === "string") ? tokens.join("") : tokens;
}
