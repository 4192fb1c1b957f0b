import { beginning, ending } from "../base/text.ts";

/** A text whose middle was cut out. */
export interface CutText {
  readonly head: string;
  /** `""` if nothing was cut. */
  readonly tail: string;
  /** In UTF-16 code units. */
  readonly leftOut: number;
}

const LONGEST_ESCAPE = 6;

/**
 * Cuts the middle out of a text that is longer than `chars` UTF-16 code units. It splits no surrogate pair, and in a JSON
 * text no escape.
 */
export function cutMiddle(text: string, chars: number, syntax: "text" | "json" = "text"): CutText {
  if (text.length <= chars) return { head: text, tail: "", leftOut: 0 };
  let headLength = Math.ceil(chars / 2);
  let tailLength = chars - headLength;
  if (syntax === "json") {
    headLength = escapeAround(text, headLength)?.start ?? headLength;
    const after = escapeAround(text, text.length - tailLength)?.end;
    if (after !== undefined) tailLength = text.length - after;
  }
  const head = beginning(text, headLength);
  const tail = ending(text, tailLength);
  return { head, tail, leftOut: text.length - head.length - tail.length };
}

/** Finds the escape of a JSON text that a cut at this index would split. */
function escapeAround(
  text: string,
  index: number,
): { readonly start: number; readonly end: number } | undefined {
  for (let start = index - 1; start > index - LONGEST_ESCAPE && start >= 0; start--) {
    if (text.charAt(start) !== "\\" || !startsEscape(text, start)) continue;
    const end = start + (text.charAt(start + 1) === "u" ? LONGEST_ESCAPE : 2);
    return end > index ? { start, end } : undefined;
  }
  return undefined;
}

/** A backslash starts an escape if an even number of backslashes stands before it. */
function startsEscape(text: string, at: number): boolean {
  let before = at;
  while (text.charAt(before - 1) === "\\") before--;
  return (at - before) % 2 === 0;
}
