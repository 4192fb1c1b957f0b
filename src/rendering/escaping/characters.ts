import { type Marks, markMatches } from "./marks.ts";

/**
 * Characters that a person cannot see, or cannot tell from others: control and format characters, bidi controls, halves
 * of surrogate pairs, private and unassigned characters, separators and blanks other than the space, variation
 * selectors, tags.
 */
const HIDDEN = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800\ufffc]|(?! )\p{Zs}/gu;

/** Like {@link HIDDEN}, without the line feed. */
const HIDDEN_IN_LINES = new RegExp(`(?!\\n)(?:${HIDDEN.source})`, "gu");

/** Marks that strike through or enclose the letter before them. */
const OVERLAYS = /\p{Me}|[\u0334-\u0338]|[\u20d2\u20d3\u20d8-\u20da\u20e5\u20e6\u20ea\u20eb]/gu;

/** Letters and digits in a style, such as the full-width and the mathematical ones, and Latin ones that look like others. */
const STYLED =
  /[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\u{1d400}-\u{1d7ff}\u2160-\u217f\u2102\u210a-\u2113\u2115\u2119-\u211d\u2124\u2128\u212a-\u212d\u212f-\u2134\u2139\u2145-\u2149\u{1fbf0}-\u{1fbf9}\u017f\u0251\u0261]/gu;

/** Punctuation that looks like that of paths, URLs, JSON and shells: slash, backslash, dot, colon, semicolon, `@`, `|`, `!`, `"`. */
const PUNCTUATION =
  /[\u2044\u2215\u29f8\u2571\uff0f\u2216\u29f5\ufe68\uff3c\u2024\ufe52\uff0e\u0589\u05c3\ua789\u2236\u02d0\ufe55\u037e\ufe54\uff20\ufe6b\u2223\u01c0\u01c3\u02ba\uff02\uff07]/g;

/** The brackets of Sandgate's own notes: no other text shows them. */
const NOTE_BRACKETS = /[\u27e6\u27e7]/g;

/** Marks the characters that are not shown as they are, wherever they stand. */
export function markCharacters(text: string, keepsLines: boolean, marks: Marks): void {
  for (const pattern of [
    keepsLines ? HIDDEN_IN_LINES : HIDDEN,
    OVERLAYS,
    STYLED,
    PUNCTUATION,
    NOTE_BRACKETS,
  ]) {
    markMatches(text, pattern, marks);
  }
}
