/** A compiled piece of a pattern: the text itself, or what a list of tokens stands for. */
export type Wildcard = string | readonly Token[];

/** One character, any run of characters, or the characters that `matches` takes. Characters are code points. */
export type Token = string | typeof STAR | CharacterClass;

/** Any run of characters, the empty one too. */
export const STAR: unique symbol = Symbol("*");

/** A set of characters. */
export interface CharacterClass {
  matches(character: string): boolean;
}

/**
 * Tells whether a text is what a wildcard stands for. It goes back to the last star only, so that its time is
 * bounded by the product of both lengths; a regular expression takes the power of the number of stars, and
 * the text is the model's choice.
 */
export function matchesWildcard(wildcard: Wildcard, text: string): boolean {
  if (typeof wildcard === "string") return wildcard === text;
  const characters = [...text];
  return matchesSequence(
    wildcard,
    characters,
    (token) => token === STAR,
    (token, character) =>
      typeof token === "string" ? token === character : (token as CharacterClass).matches(character),
  );
}

/** Matches patterns against items, one to one, where a star stands for any number of items. */
export function matchesSequence<P, T>(
  patterns: readonly P[],
  items: readonly T[],
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
      // Let the last star take one item more; an earlier star could not do better.
      p = star + 1;
      i = ++resumeAt;
    } else {
      return false;
    }
  }
  while (p < patterns.length && isStar(patterns[p] as P)) p++;
  return p === patterns.length;
}
