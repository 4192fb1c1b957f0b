/** Characters that take two columns on a terminal: East Asian wide characters (UAX #11) and emoji. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}\p{Emoji_Presentation}]/u;
/** Characters that terminals combine with the previous character. */
const COMBINING = /[\p{Mn}\p{Me}]/u;
const ASCII = /^[\u0020-\u007e]*$/;

/** Returns how many columns a printable text takes. */
export function textWidth(text: string): number {
  if (ASCII.test(text)) return text.length;
  let width = 0;
  for (const character of text) width += characterWidth(character);
  return width;
}

/** Pads or cuts a printable text to exactly this many columns. A text that was cut ends in `…`. */
export function fitText(text: string, columns: number): string {
  const width = textWidth(text);
  return width <= columns
    ? text + " ".repeat(columns - width)
    : fitText(`${cut(text, columns - 1)}…`, columns);
}

/** Returns the longest prefix of a text that takes at most this many columns. */
function cut(text: string, columns: number): string {
  let width = 0;
  let end = 0;
  for (const character of text) {
    width += characterWidth(character);
    if (width > columns) break;
    end += character.length;
  }
  return text.slice(0, end);
}

function characterWidth(character: string): 0 | 1 | 2 {
  if (COMBINING.test(character)) return 0;
  return WIDE.test(character) ? 2 : 1;
}
