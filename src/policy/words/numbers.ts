/**
 * A number in a text, with or without thousands separators, that is no part of a date, time, version, account number or
 * word. With blanks or apostrophes between thousands (`5 000`), it is none: it could be two. Linear: a run of digits is
 * read from its beginning only.
 */
const NUMBER =
  /(?<![\p{L}\p{N}\p{M}_.,:/−-]|\p{N}['’ \u00A0\u2009\u202F](?=\d{3}(?!\p{N})))-?(?:\d{1,3}(?:,\d{3})+|\d{1,15})(?:\.\d{1,15})?(?![\p{L}\p{N}\p{M}_%]|[.,:/-]\p{N}|[-/]|['’ \u00A0\u2009\u202F]\d{3}(?!\p{N}))/gu;

/** Returns the numbers that stand in a text, by value: `1,000.00` is 1000. */
export function numbersIn(text: string): ReadonlySet<number> {
  return new Set(Array.from(text.matchAll(NUMBER), ([number]) => Number(number.replaceAll(",", ""))));
}
