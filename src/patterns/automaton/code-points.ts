/** A set of code points: the first and the last one of each of its ranges, in ascending order. */
export type CodePoints = readonly (readonly [first: number, last: number])[];

const LAST = 0x10ffff;

/** Returns what is in one of these sets. */
export function union(...sets: readonly CodePoints[]): CodePoints {
  const joined: [number, number][] = [];
  for (const [first, last] of sets.flat().sort(([one], [other]) => one - other)) {
    const before = joined.at(-1);
    if (before !== undefined && first <= before[1] + 1) before[1] = Math.max(before[1], last);
    else joined.push([first, last]);
  }
  return joined;
}

/** Returns what is not in a set. */
export function complement(set: CodePoints): CodePoints {
  const others: [number, number][] = [];
  let next = 0;
  for (const [first, last] of union(set)) {
    if (first > next) others.push([next, first - 1]);
    next = last + 1;
  }
  if (next <= LAST) others.push([next, LAST]);
  return others;
}

export function hasCodePoint(set: CodePoints, codePoint: number): boolean {
  return set.some(([first, last]) => first <= codePoint && codePoint <= last);
}

/** Characters that make a found text readable, in order of preference. */
const PREFERRED = Array.from("a0bA_-/. @:", (character) => character.codePointAt(0) as number);

/**
 * Returns a few code points that stand for all: each other one is in the same of these sets as one of them.
 */
export function representatives(sets: readonly CodePoints[]): readonly number[] {
  const ends = sets.flatMap((set) => set.flatMap(([first, last]) => [first, last + 1]));
  const printable = [0x20, 0x7f];
  const found = new Map<string, number>();
  for (const codePoint of [...PREFERRED, ...printable, 0, ...ends]) {
    if (codePoint > LAST) continue;
    const within = sets.map((set) => (hasCodePoint(set, codePoint) ? "1" : "0")).join("");
    if (!found.has(within)) found.set(within, codePoint);
  }
  return [...found.values()];
}
