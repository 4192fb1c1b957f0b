import type { Segment } from "./escape.ts";
import type { Rendering } from "./render.ts";
import { ShownText } from "./shown.ts";

/** Characters that take two columns on a terminal: East Asian wide characters (UAX #11) and emoji. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}\p{Emoji_Presentation}]/u;

/** Characters that terminals combine with the previous character. */
const COMBINING = /[\p{Mn}\p{Me}]/u;

/** Would combine with what is put before them. */
const LEADING_MARKS = /^\p{M}+/u;

const ASCII = /^[\u0020-\u007e]*$/;

/** Stands before each line of foreign text. No line of Sandgate's own words starts like this. */
export const FOREIGN_PREFIX = "| ";
/** Stands before each row that continues a line, where a terminal would start a row with anything of the text. */
export const CONTINUED_PREFIX = ": ";

const MIN_COLUMNS = 8;

/**
 * Returns a rendering for a terminal: each line of it has a prefix, so that none looks like Sandgate's own words.
 *
 * @param columns The width of the terminal. Without one, lines are not wrapped.
 */
export function toTerminalLines({ segments }: Pick<Rendering, "segments">, columns?: number): ShownText {
  const lines = segments
    .map(({ text }) => text)
    .join("")
    .split("\n");
  return new ShownText(lines.map((line) => wrapLine(FOREIGN_PREFIX + line, columns)).join("\n"));
}

/**
 * Wraps a printable line. Every row but the first starts with {@link CONTINUED_PREFIX}.
 *
 * @param columns `undefined` or 0 if the width is not known: some terminals say that they have 0 columns.
 */
export function wrapLine(line: string, columns: number | undefined): string {
  if (columns === undefined || columns === 0 || line.length * 2 <= columns) return line;
  const width = Math.max(columns, MIN_COLUMNS);
  const [first = "", ...others] = wrapText(line, width);
  if (others.length === 0) return first;
  const rest = wrapText(line.slice(first.length), width - CONTINUED_PREFIX.length);
  return [first, ...rest.map((row) => CONTINUED_PREFIX + row)].join("\n");
}

/** A part of a line on a page. */
export interface PageSegment {
  readonly kind: "prefix" | Segment["kind"];
  /** For `textContent`, never for `innerHTML`: it is not escaped for HTML, and `<` stands for itself. */
  readonly text: string;
}

/**
 * Returns a rendering for a page in a browser: the segments of each line, of which the first is its prefix. A page puts
 * each into the `textContent` of an element, and may style them by their kind.
 */
export function toPageLines({ segments }: Pick<Rendering, "segments">): readonly (readonly PageSegment[])[] {
  const prefix: PageSegment = { kind: "prefix", text: FOREIGN_PREFIX };
  const lines: PageSegment[][] = [[prefix]];
  for (const { kind, text } of segments) {
    for (const [index, part] of text.split("\n").entries()) {
      if (index > 0) lines.push([prefix]);
      if (part !== "") lines.at(-1)?.push({ kind, text: part });
    }
  }
  return lines;
}

/** Returns how many columns a printable text takes. */
export function textWidth(text: string): number {
  if (ASCII.test(text)) return text.length;
  let width = 0;
  for (const character of text) width += characterWidth(character);
  return width;
}

/** Pads a printable text to exactly this many columns, or cuts its middle out: `…` stands in its place. */
export function fitText(text: string, columns: number): string {
  const width = textWidth(text);
  if (width <= columns) return text + " ".repeat(columns - width);
  const head = firstColumns(text, Math.ceil((columns - 1) / 2));
  const tail = lastColumns(text, columns - 1 - textWidth(head));
  const cut = `${head}…${tail}`;
  return cut + " ".repeat(columns - textWidth(cut));
}

/** Splits a printable text into rows of at most this many columns. */
export function wrapText(text: string, columns: number): readonly string[] {
  if (text.length <= columns && ASCII.test(text)) return [text];
  const rows: string[] = [];
  let left = text;
  do {
    // A character of two columns is shown even if there is only one.
    const row = firstColumns(left, columns) || String.fromCodePoint(left.codePointAt(0) ?? 0);
    rows.push(row);
    left = left.slice(row.length);
  } while (left !== "");
  return rows;
}

/** Returns the longest prefix of a text that takes at most this many columns. */
function firstColumns(text: string, columns: number): string {
  let width = 0;
  let end = 0;
  for (const character of text) {
    width += characterWidth(character);
    if (width > columns) break;
    end += character.length;
  }
  return text.slice(0, end);
}

/** Returns the longest suffix of a text that takes at most this many columns, and starts with no combining mark. */
function lastColumns(text: string, columns: number): string {
  const characters = Array.from(text);
  let width = 0;
  let start = characters.length;
  while (start > 0) {
    width += characterWidth(characters[start - 1] ?? "");
    if (width > columns) break;
    start--;
  }
  return characters.slice(start).join("").replace(LEADING_MARKS, "");
}

function characterWidth(character: string): 0 | 1 | 2 {
  if (COMBINING.test(character)) return 0;
  return WIDE.test(character) ? 2 : 1;
}
