import { beginning, ending } from "../base/text.ts";
import { count, type EscapeOptions, escapeText, note, type Segment } from "./escape.ts";

/** A text whose middle was cut out. */
interface CutText {
  readonly head: string;
  /** `""` if nothing was cut. */
  readonly tail: string;
  /** In UTF-16 code units. */
  readonly leftOut: number;
}

const LONGEST_ESCAPE = 6;

/** Options of {@link render}. */
export interface RenderOptions extends EscapeOptions {
  /** Maximum number of characters shown (UTF-16 code units): half from the beginning, half from the end. */
  readonly chars?: number;
  /** The notes that replace each {@link PLACE} in the text, in order. Default: none. */
  readonly notes?: readonly string[];
}

/** A foreign text in the form in which it is shown to a person. */
export interface Rendering {
  readonly segments: readonly Segment[];
  /** In UTF-16 code units of the original text. */
  readonly charactersLeftOut: number;
}

/** Marks where a note is inserted. A lone surrogate, which no well-formed text contains. */
export const PLACE = "\udfff";

/**
 * Prepares a text from a model, tool, server or file for display to a person; all such texts are rendered
 * here. Escapes control characters, characters that are invisible or look like others, and whatever changes
 * the order of the text. Cuts out the middle of a long text; notes say what is missing. The text may be
 * hostile.
 */
export function render(text: string, options: RenderOptions = {}): Rendering {
  const { chars = Number.POSITIVE_INFINITY, notes = [], syntax } = options;
  const { head, tail, leftOut } = cutMiddle(text, chars, syntax);
  if (leftOut === 0) return { segments: withNotes(head, notes, options), charactersLeftOut: 0 };
  const tailNotes = tail.split(PLACE).length - 1;
  const segments = [
    ...withNotes(head, notes, options),
    note(`${count(leftOut, "character")} left out`),
    ...withNotes(tail, notes.slice(notes.length - tailNotes), options),
  ];
  return { segments, charactersLeftOut: leftOut };
}

/** Returns a rendering as one text. Its notes cannot be forged, as their brackets are escaped everywhere else. */
export function textOf({ segments }: Pick<Rendering, "segments">): string {
  return segments.map(({ text }) => text).join("");
}

function withNotes(text: string, notes: readonly string[], options: EscapeOptions): readonly Segment[] {
  if (notes.length === 0) return escapeText(text, options);
  return text
    .split(PLACE)
    .flatMap((part, index) => [
      ...(index === 0 ? [] : [note(notes[index - 1] ?? "")]),
      ...escapeText(part, options),
    ]);
}

/**
 * Cuts the middle out of a text that is longer than `chars` UTF-16 code units. Splits neither surrogate pairs
 * nor, in a JSON text, escapes.
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
