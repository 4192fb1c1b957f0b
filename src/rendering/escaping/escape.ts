import { count, note, type Segment } from "../segment.ts";
import { markCharacters } from "./characters.ts";
import { markStacks } from "./combining.ts";
import { markDecomposed } from "./composition.ts";
import { markReordering } from "./direction.ts";
import { Marks } from "./marks.ts";
import { markNames } from "./names.ts";

/** Options of {@link escapeText}. */
export interface EscapeOptions {
  /** `json` for a JSON text, in which a backslash starts an escape already. Default: `text`. */
  readonly syntax?: "text" | "json";
  /** Whether line feeds stay as they are. Otherwise the text becomes one line. Default: `false`. */
  readonly keepsLines?: boolean;
  /** A note counts the spaces in a row beyond this number. Default: 32. */
  readonly maxSpaces?: number;
}

const SHORT_ESCAPES: Record<string, string> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };
const PLAIN = /^[ -[\]-~]*$/;
const READS_AS_ESCAPE = /^[\\nrtu]?$/;
const MAX_SPACES = 32;
const MAX_LINE_BREAKS = 4;

/**
 * Escapes everything in a foreign text that is not what it looks like: `\u202e`, like in JSON. Where a backslash would
 * read as the start of an escape, it is doubled, so that two texts never look the same, unless a note counts something.
 */
export function escapeText(text: string, options: EscapeOptions = {}): readonly Segment[] {
  const { syntax = "text", keepsLines = false, maxSpaces = MAX_SPACES } = options;
  const writer = new SegmentWriter();
  const marks = new Marks(text);
  if (!PLAIN.test(text)) {
    markCharacters(text, keepsLines, marks);
    markNames(text, syntax === "json", marks);
    markReordering(text, marks);
    markDecomposed(text, marks);
    markStacks(text, marks);
  }
  let from = 0;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charAt(at);
    if (marks.has(at)) {
      writer.add("text", text.slice(from, at));
      writer.add("escape", SHORT_ESCAPES[unit] ?? escapeUnit(unit));
      from = at + 1;
    } else if (unit === "\\") {
      if (syntax === "json" || !isAmbiguous(text, at, marks)) continue;
      writer.add("text", text.slice(from, at));
      writer.add("escape", "\\\\");
      from = at + 1;
    } else if (unit === " " || unit === "\n") {
      const end = endOfRun(text, at, unit);
      const shown = at + (unit === " " ? maxSpaces : MAX_LINE_BREAKS);
      if (end > shown) {
        writer.add("text", text.slice(from, shown));
        writer.append(note(count(end - shown, unit === " " ? "space" : "line break")));
        from = end;
      }
      at = end - 1;
    }
  }
  writer.add("text", text.slice(from));
  return writer.segments();
}

function isAmbiguous(text: string, at: number, marks: Marks): boolean {
  return marks.has(at + 1) || READS_AS_ESCAPE.test(text.charAt(at + 1));
}

function endOfRun(text: string, start: number, unit: string): number {
  let end = start + 1;
  while (text.charAt(end) === unit) end++;
  return end;
}

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** Joins what follows each other and is of the same kind. */
class SegmentWriter {
  readonly #segments: Segment[] = [];
  #kind: "text" | "escape" = "text";
  #text = "";

  add(kind: "text" | "escape", text: string): void {
    if (kind !== this.#kind) this.#flush();
    this.#kind = kind;
    this.#text += text;
  }

  append(segment: Segment): void {
    this.#flush();
    this.#segments.push(segment);
  }

  segments(): readonly Segment[] {
    this.#flush();
    return this.#segments;
  }

  #flush(): void {
    if (this.#text !== "") this.#segments.push({ kind: this.#kind, text: this.#text });
    this.#text = "";
  }
}
