/** A compiled part of a pattern: a literal text, or a list of tokens. */
export type Wildcard = string | readonly Token[];

/** One character, any number of characters, or a set of characters. Characters are code points. */
export type Token = string | typeof STAR | CharacterClass;

/** Any number of characters, including none. */
export const STAR: unique symbol = Symbol("*");

/** A set of characters. */
export interface CharacterClass {
  /** A regular expression that matches the same characters, except `/`, which no part of a path has. */
  readonly pattern: string;
  matches(character: string): boolean;
}

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

/** A backslash before any other character stands for itself, as the capabilities of a grant can contain any text. */
function parse(pattern: string): Wildcard {
  if (!/[*\\]/.test(pattern)) return pattern;
  const tokens = Array.from(pattern.matchAll(/\\([*\\])|./gsu), ([text, escaped]): Token => {
    return escaped ?? (text === "*" ? STAR : text);
  });
  return tokens.every((token) => typeof token === "string") ? tokens.join("") : tokens;
}

/**
 * Whether a wildcard matches a text. It backtracks to the last star only, so its time is at most proportional
 * to the product of both lengths. The time of a regular expression is exponential in the number of stars, and
 * the model chooses the text.
 */
export function matchesWildcard(wildcard: Wildcard, text: string): boolean {
  if (typeof wildcard === "string") return wildcard === text;
  // A text without surrogates has its characters at its indices.
  const characters = SURROGATE.test(text) ? [...text] : text;
  return matchesSequence(
    wildcard,
    characters,
    (token) => token === STAR,
    (token, character) =>
      typeof token === "string" ? token === character : (token as CharacterClass).matches(character),
  );
}

/** Whether patterns match items, one to one, where a star matches any number of items. */
export function matchesSequence<P, T>(
  patterns: readonly P[],
  items: ArrayLike<T>,
  isStar: (pattern: P) => boolean,
  matches: (pattern: P, item: T) => boolean,
): boolean {
  let p = 0;
  let i = 0;
  let star = -1;
  let resumeAt = 0;
  while (i < items.length) {
    const pattern = patterns[p];
    if (p < patterns.length && isStar(pattern as P)) {
      star = p++;
      resumeAt = i;
    } else if (p < patterns.length && matches(pattern as P, items[i] as T)) {
      p++;
      i++;
    } else if (star >= 0) {
      // Let the last star match one more item. Backtracking to an earlier star could not succeed where this
      // fails.
      p = star + 1;
      i = ++resumeAt;
    } else {
      return false;
    }
  }
  while (p < patterns.length && isStar(patterns[p] as P)) p++;
  return p === patterns.length;
}
