import { beginning, ending } from "../base/text.ts";
import type { JsonValue } from "../json/value.ts";
import { type ContentBlock, contentText, isContentOutput } from "../tool/content.ts";
import type { ModelReader, ToolTraits } from "../tool/tool-traits.ts";

/** How much of a result the model reads. */
export interface ResultBudget {
  /** Maximum number of characters (UTF-16 code units) of all text blocks together. Default: 30,000. */
  readonly chars?: number;
  /** The part of them, from 0 to 1, that is the beginning; the others are the end. Default: 0.6. */
  readonly head?: number;
}

/** Default of `ResultBudget.chars`. */
export const DEFAULT_RESULT_CHARS = 30_000;
/** Default of `ResultBudget.head`. */
export const DEFAULT_HEAD = 0.6;

/** @throws {TypeError} unless a budget is valid. */
export function checkResultBudget(budget: ResultBudget): void {
  const { chars = DEFAULT_RESULT_CHARS, head = DEFAULT_HEAD } = budget;
  if (!Number.isSafeInteger(chars) || chars < 0) {
    throw new TypeError(`resultBudget.chars must be an integer of at least 0, not ${String(chars)}`);
  }
  if (typeof head !== "number" || !(head >= 0 && head <= 1)) {
    throw new TypeError(`resultBudget.head must be a number from 0 to 1, not ${String(head)}`);
  }
}

/** A content within its budget, and how many characters it had and has, if it was shortened. */
export interface BudgetedContent {
  readonly content: readonly ContentBlock[];
  readonly truncated?: { readonly from: number; readonly to: number };
}

/** What the model reads before and after a content. */
interface Notices {
  readonly before?: readonly ContentBlock[];
  readonly after?: readonly ContentBlock[];
}

/**
 * Shortens the texts of a content to a budget: of each block, in proportion to its length, the beginning and the end are
 * left, with a note between them that counts what is missing. Blocks whose share has no room for a note become one.
 *
 * @param notices What the model reads before and after the content. A long content does not shorten them; together they
 *   take at most half of the budget. Default: nothing.
 */
export function withinBudget(
  content: readonly ContentBlock[],
  { chars = DEFAULT_RESULT_CHARS, head = DEFAULT_HEAD }: ResultBudget = {},
  { before = [], after = [] }: Notices = {},
): BudgetedContent {
  const from = lengthOf(before) + lengthOf(content) + lengthOf(after);
  if (from <= chars) return { content: [...before, ...content, ...after] };
  const first = shortenEach(before, Math.floor(chars / (after.length === 0 ? 2 : 4)), head);
  const last = shortenEach(after, Math.floor(chars / 2) - lengthOf(first), head);
  const left = chars - lengthOf(first) - lengthOf(last);
  const shortened = [...first, ...shortenEach(content, left, head), ...last];
  return { content: shortened, truncated: { from, to: lengthOf(shortened) } };
}

function shortenEach(content: readonly ContentBlock[], chars: number, head: number): readonly ContentBlock[] {
  const from = lengthOf(content);
  if (from <= chars) return content;
  const shareOf = (text: string): number => Math.floor((chars * text.length) / from);
  if (content.some((block) => block.type === "text" && isTooSmall(shareOf(block.text), block.text))) {
    return shortenTogether(content, chars, head);
  }
  return content.map(
    (block): ContentBlock =>
      block.type === "text" ? { type: "text", text: shorten(block.text, shareOf(block.text), head) } : block,
  );
}

/** Whether a text would be shortened to a beginning that does not say so. */
function isTooSmall(room: number, text: string): boolean {
  return text.length > room && room <= leftOutNote(text.length).length;
}

/** Shortens all texts as one, which comes before the images. */
function shortenTogether(
  content: readonly ContentBlock[],
  chars: number,
  head: number,
): readonly ContentBlock[] {
  const text = shorten(contentText(content), chars, head);
  return [{ type: "text", text }, ...content.filter(({ type }) => type !== "text")];
}

function lengthOf(content: readonly ContentBlock[]): number {
  return content.reduce((sum, block) => sum + (block.type === "text" ? block.text.length : 0), 0);
}

/** Cuts the middle out of a text. Where there is no room for the note, only the beginning is left. */
export function shorten(text: string, room: number, head: number): string {
  if (text.length <= room) return text;
  // The note counts what it replaces: at most the whole text.
  const left = room - leftOutNote(text.length).length;
  if (left <= 0) return beginning(text, room);
  const first = beginning(text, Math.round(left * head));
  const last = ending(text, left - Math.round(left * head));
  return first + leftOutNote(text.length - first.length - last.length) + last;
}

/** `[… 12,345 characters left out …]`, on a line of its own. */
export function leftOutNote(count: number): string {
  return `\n[… ${count.toLocaleString("en-US")} characters left out …]\n`;
}

/** Returns how the model reads an output, if the tool says so and it is no content. Never throws. */
export function modelTextOf(
  { modelText }: Pick<ToolTraits, "modelText">,
  output: JsonValue,
  reader: ModelReader,
): string | undefined {
  if (modelText === undefined || isContentOutput(output)) return undefined;
  try {
    const text: unknown = modelText(output as never, reader);
    return typeof text === "string" ? text : undefined;
  } catch {
    // The call has run: what it returned counts.
    return undefined;
  }
}
