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

const SURROGATE = /[\ud800-\udfff]/;

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
