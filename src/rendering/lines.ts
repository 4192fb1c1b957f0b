import type { Segment } from "./escaping/escape.ts";
import type { Rendering } from "./render.ts";
import { ShownText } from "./shown-text.ts";
import { wrapText } from "./text-width.ts";

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
