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

/** Copies a part of a text: V8 retains the whole text as long as a slice of it is referenced. */
export function copied(part: string): string {
  return JSON.parse(JSON.stringify(part)) as string;
}

/**
 * Whether a text has at most this many code points, which is how `maxLength` of JSON Schema counts: a tool
 * must take what its input schema accepts.
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

/**
 * Characters that a terminal interprets instead of showing them (control characters, escape sequences), that change the
 * order or the look of the text around them (bidi controls, variation selectors), or that are invisible.
 * The expression is global: use it with `replace` only.
 */
export const UNPRINTABLE: RegExp = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/**
 * Control sequences of ECMA-48, as programs write them for terminals: CSI (colours, movements of the cursor), the strings that OSC,
 * DCS, SOS, PM and APC begin (titles, links), and other escapes. A sequence without an end takes nothing but its beginning.
 */
const SEQUENCES =
  /\u001b(?:\[[0-?]{0,256}[ -/]{0,16}[@-~]|[\]PX^_][^\u0007\u001b]{0,4096}(?:\u0007|\u001b\\)|[ -/]{0,16}[0-OQ-WYZ\\`-~])/g;

/** Control characters without a meaning in a text. */
const CONTROLS = /[\u0000-\u0007\u000e-\u001f\u007f]/g;

const HAS_CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f]/;

/**
 * Returns what a terminal would show of a program's output: without control sequences, and of each line what was written last
 * after a carriage return, as progress is.
 */
export function plainText(text: string): string {
  // Most outputs have none of this.
  if (!HAS_CONTROLS.test(text)) return text;
  const lines = text.replace(SEQUENCES, "").split("\n").map(lastWritten);
  return lines.map(withoutErased).join("\n").replace(CONTROLS, "");
}

/** A carriage return begins the line again. One at its end is part of the line end. */
function lastWritten(line: string): string {
  const end = line.endsWith("\r") ? line.replace(/\r+$/, "") : line;
  return end.slice(end.lastIndexOf("\r") + 1);
}

/** A backspace takes back the character before it. */
function withoutErased(line: string): string {
  if (!line.includes("\b")) return line;
  const left: string[] = [];
  for (const character of line) {
    if (character === "\b") left.pop();
    else left.push(character);
  }
  return left.join("");
}
