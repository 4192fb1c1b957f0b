import type { ModelReader } from "../tool/tool-traits.ts";

/** The characters reserved for the notes of a text. */
const RESERVED = 400;

/** Lines of a list, as the model reads them. */
export interface ListedText {
  readonly lines: readonly string[];
  /** What a result is called, in the plural: `"matches"`. */
  readonly what: string;
  /** The text for the model if there are none. */
  readonly none: string;
  /** What to do about too many, if the tool cannot skip results. Default: it has the argument `offset`. */
  readonly narrower?: string;
  /** Whether a line is a result of its own, and does not belong to the one before or after. Default: each is. */
  readonly isResult?: (index: number) => boolean;
  readonly note?: string | undefined;
}

/**
 * Returns as many lines as the model reads, with a note on how to get further ones. The argument `offset` of
 * the call is the number of results that were skipped.
 */
export function listText(
  { lines, what, none, isResult = () => true, narrower, note }: ListedText,
  { chars, input, toolName }: ModelReader,
): string {
  const { offset = 0 } = input as { readonly offset?: number };
  if (lines.length === 0) return note === undefined ? none : `${none}\n${noteText(note)}`;
  const room = chars - RESERVED - (note?.length ?? 0);
  let [count, used, results] = [0, 0, offset];
  for (const [index, { length }] of lines.entries()) {
    used += length + 1;
    if (used > room && count > 0) break;
    if (isResult(index)) results++;
    count++;
  }
  const notes = note === undefined ? [] : [note];
  if (count < lines.length) {
    const next = narrower ?? `Call ${toolName} with offset ${results} for the next ones.`;
    notes.unshift(`Only ${what} ${offset + 1} to ${results} fit here. ${next}`);
  }
  const shown = lines.slice(0, count).join("\n");
  return notes.length === 0 ? shown : `${shown}\n${noteText(notes.join(" "))}`;
}

/** Names and paths can have line ends. */
export function onOneLine(text: string): string {
  return text.replaceAll("\n", "\\n").replaceAll("\r", "\\r");
}

/** A note of a tool, on a line of its own. */
export function noteText(note: string): string {
  return `[${note}]`;
}

/**
 * Returns a text as far as the model reads it: of a longer one whole lines of its beginning and its end, and between them how much
 * is missing and what to do about it.
 *
 * @param head The part, from 0 to 1, that is the beginning.
 * @param hint A sentence.
 */
export function shortenedText(text: string, chars: number, head: number, hint: string): string {
  if (text.length <= chars) return text;
  const room = Math.max(chars - RESERVED, 0);
  const first = wholeLines(text.slice(0, Math.round(room * head)), "beginning");
  const last = wholeLines(text.slice(text.length - Math.round(room * (1 - head))), "end");
  const missing = text.length - first.length - last.length;
  const count = missing.toLocaleString("en-US");
  return `${first}${first.endsWith("\n") ? "" : "\n"}[… ${count} characters are left out here. ${hint} …]\n${last}`;
}

/** Leaves out the line that was cut, unless it is long: then a part of it is left. */
function wholeLines(text: string, which: "beginning" | "end"): string {
  const at = which === "end" ? text.indexOf("\n") : text.lastIndexOf("\n");
  if (which === "end") return at >= 0 && at < text.length / 2 ? text.slice(at + 1) : text.toWellFormed();
  return at > text.length / 2 ? text.slice(0, at + 1) : text.toWellFormed();
}
