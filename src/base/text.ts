/**
 * Texts that leave this process are well formed: no half of a surrogate pair, which providers refuse with the whole
 * conversation.
 */

/** Returns a text with every half of a surrogate pair replaced by U+FFFD. */
export function wellFormed(text: string): string {
  return text.isWellFormed() ? text : text.toWellFormed();
}

/** Returns at most `length` characters (UTF-16 code units) of the beginning of a text, without half a pair at its end. */
export function beginning(text: string, length: number): string {
  if (text.length <= length) return text;
  return copied(text.slice(0, splitsPair(text, length) ? length - 1 : length));
}

/** Returns at most `length` characters (UTF-16 code units) of the end of a text, without half a pair at its start. */
export function ending(text: string, length: number): string {
  if (text.length <= length) return text;
  const start = text.length - length;
  return copied(text.slice(splitsPair(text, start) ? start + 1 : start));
}

/** Returns a part of a text as one of its own: V8 keeps the whole text as long as a part of it that was cut out is there. */
export function copied(part: string): string {
  return JSON.parse(JSON.stringify(part)) as string;
}

/**
 * Whether a text has at most so many code points, which is how `maxLength` of JSON Schema counts: a tool must take what its
 * input schema accepts.
 */
export function hasAtMost(text: string, codePoints: number): boolean {
  if (text.length <= codePoints) return true;
  return text.length <= 2 * codePoints && [...text].length <= codePoints;
}

function splitsPair(text: string, index: number): boolean {
  const before = text.charCodeAt(index - 1);
  const after = text.charCodeAt(index);
  return before >= 0xd800 && before < 0xdc00 && after >= 0xdc00 && after <= 0xdfff;
}
