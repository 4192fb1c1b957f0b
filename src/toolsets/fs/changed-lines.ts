import { noteText } from "../model-texts.ts";

/** How many lines are shown before and after those that changed, and how many at most. */
const AROUND = 3;

const MAX_LINES = 60;

/** The longest line that is shown with those that changed. */
const MAX_LENGTH = 2_000;

/** How much of two texts is compared at once. */
const STEP = 65_536;

/** The result of an edit. */
export interface EditOutput {
  readonly replacements: number;
  /** The lines from the first one that changed to the last one, as they are now, with some around them. */
  readonly changed: {
    readonly firstLine: number;
    readonly content: string;
    /** How many more there are; absent if there are no more. */
    readonly leftOut?: number;
  };
}

/** Finds the lines in which a text differs from what it was. */
export function changedLines(before: string, after: string): EditOutput["changed"] {
  const start = commonBeginning(before, after);
  const end = after.length - commonEnd(before, after, start);
  const from = beginningOfLine(after, start, AROUND);
  const lines = after.slice(from, endOfLine(after, end, AROUND)).split("\n");
  if (lines.at(-1) === "") lines.pop();
  const leftOut = lines.length - MAX_LINES;
  const shown = lines
    .slice(0, MAX_LINES)
    .map((line) => (line.length > MAX_LENGTH ? `${line.slice(0, MAX_LENGTH).toWellFormed()}…` : line));
  const firstLine = countLines(after, from) + 1;
  return { firstLine, content: shown.join("\n"), ...(leftOut > 0 && { leftOut }) };
}

/** Returns how the model reads it. */
export function editText({ replacements, changed }: EditOutput): string {
  const { firstLine, content, leftOut } = changed;
  const count = replacements === 1 ? "1 text was" : `${replacements} texts were`;
  const lines = content === "" ? "The file is empty now." : numberLines(content, firstLine);
  const more = leftOut === undefined ? [] : [noteText(`… and ${leftOut} more lines to the last change.`)];
  return [`${count} replaced. The file now has here:`, lines, ...more].join("\n");
}

function commonBeginning(a: string, b: string): number {
  let at = 0;
  while (at < a.length && a.slice(at, at + STEP) === b.slice(at, at + STEP)) at += STEP;
  const most = Math.min(a.length, b.length);
  at = Math.min(at, most);
  while (at < most && a.charCodeAt(at) === b.charCodeAt(at)) at++;
  return at;
}

/** @param beginning How much both have in common at their beginning. */
function commonEnd(a: string, b: string, beginning: number): number {
  const most = Math.min(a.length, b.length) - beginning;
  let length = 0;
  while (
    length + STEP <= most &&
    a.slice(a.length - length - STEP, a.length - length) ===
      b.slice(b.length - length - STEP, b.length - length)
  )
    length += STEP;
  while (length < most && a.charCodeAt(a.length - length - 1) === b.charCodeAt(b.length - length - 1))
    length++;
  return length;
}

function beginningOfLine(text: string, at: number, linesBefore: number): number {
  let start = at;
  for (let count = 0; count <= linesBefore && start > 0; count++)
    start = count > 0 && start < 2 ? 0 : text.lastIndexOf("\n", start - (count === 0 ? 1 : 2)) + 1;
  return start;
}

function endOfLine(text: string, at: number, linesAfter: number): number {
  let end = at;
  for (let count = 0; count <= linesAfter && end < text.length; count++) {
    // What was changed may end with the end of a line.
    if (count === 0 && text[end - 1] === "\n") continue;
    const found = text.indexOf("\n", end);
    end = found < 0 ? text.length : found + 1;
  }
  return end;
}

function countLines(text: string, end: number): number {
  let count = 0;
  for (let at = text.indexOf("\n"); at >= 0 && at < end; at = text.indexOf("\n", at + 1)) count++;
  return count;
}

/** How wide a number is at least, as `cat -n` writes it. */
const WIDTH = 6;

/** A line with its number, as `cat -n` writes it. */
export function numberedLine(number: number, line: string): string {
  return `${String(number).padStart(WIDTH)}\t${line}`;
}

/** Returns the lines of a text with their numbers. A line end at the end of the text begins no line. */
export function numberLines(text: string, first: number): string {
  return text
    .split("\n")
    .slice(0, text.endsWith("\n") ? -1 : undefined)
    .map((line, index) => numberedLine(first + index, line))
    .join("\n");
}

/** Whether a text consists of lines with such numbers, one after the other, as they are read in the result of a tool. */
export function hasLineNumbers(text: string): boolean {
  const lines = text.replace(/\r?\n$/, "").split("\n");
  const [first = -1] = lines.map(numberOf);
  return first >= 0 && lines.every((line, index) => numberOf(line) === first + index);
}

function numberOf(line: string): number {
  const [, digits] = /^(?= {0,5}\d+\t)(?=[ \d]{6,16}\t) *(\d+)\t/.exec(line) ?? [];
  return digits === undefined ? -1 : Number(digits);
}

/** What the model reads of a new text that has line numbers. */
export const NUMBERED: string =
  "each line of the new text begins with a line number as read_file shows it, which would get into the file. Leave the " +
  "numbers out, with the tab after each; to have them in the file, write it with a command.";
