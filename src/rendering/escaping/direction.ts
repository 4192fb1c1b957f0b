import type { Marks } from "./marks.ts";

const RIGHT_TO_LEFT =
  "[\\u0590-\\u08ff\\ufb1d-\\ufdff\\ufe70-\\ufefc\\u{10800}-\\u{10fff}\\u{1e800}-\\u{1efff}]";
/** Words that are written from right to left, with spaces and commas between them. */
const RUN = new RegExp(`${RIGHT_TO_LEFT}+(?:[ ,]{1,2}${RIGHT_TO_LEFT}+)*`, "gu");
/** What decides about the direction of the punctuation before it. */
const DECIDING = /[\p{L}\p{N}\n]/gu;
const IS_RIGHT_TO_LEFT = new RegExp(`^(?:${RIGHT_TO_LEFT}|\\p{N})`, "u");

/**
 * Marks words that are written from right to left if they would move what follows them in the line: in `"א", "ב"` and
 * `א = 5`, terminals and browsers show what is right of the first letter to its left.
 */
export function markReordering(text: string, marks: Marks): void {
  for (const { index, 0: run } of text.matchAll(RUN)) {
    DECIDING.lastIndex = index + run.length;
    const next = DECIDING.exec(text)?.[0];
    if (next !== undefined && IS_RIGHT_TO_LEFT.test(next)) marks.add(index, index + run.length);
  }
}
