import type { Marks } from "./marks.ts";

/** Combining marks, with the character before them. */
const STACK = /(^|[^\p{M}])(\p{M}+)/gu;
/** What combining marks may stand on: letters. On anything else they could hide punctuation, or Sandgate's own words. */
const BASE = /\p{L}/u;
/** The marks that one letter may have. Vietnamese and Thai need two, Hebrew with points three. */
const MAX_MARKS = 3;

/**
 * Marks combining marks that stand on no letter, are too many for it, or repeat the one before, and all after them.
 *
 * @param marks Has everything else that is not shown as it is: a combining mark would stand on the escape.
 */
export function markStacks(text: string, marks: Marks): void {
  for (const { index, 1: base = "", 2: stack = "" } of text.matchAll(STACK)) {
    let at = index + base.length;
    const end = at + stack.length;
    if (BASE.test(base) && !marks.has(index)) at += shownLength(stack, (offset) => marks.has(at + offset));
    marks.add(at, end);
  }
}

function shownLength(stack: string, isMarked: (offset: number) => boolean): number {
  let length = 0;
  let shown = 0;
  let previous = "";
  for (const mark of stack) {
    if (isMarked(length) || mark === previous || shown === MAX_MARKS) break;
    shown++;
    length += mark.length;
    previous = mark;
  }
  return length;
}
