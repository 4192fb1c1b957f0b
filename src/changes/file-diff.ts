import { isUtf8 } from "node:buffer";
import { createTwoFilesPatch } from "diff";

/** Limits of a diff: the size of a file, and the number of edits. */
const MAX_BYTES: number = 1_024 * 1_024;
const MAX_EDITS = 1_000;

/**
 * Maximum number of line comparisons per file: each edit can take as many as there are lines (Myers 1986).
 */
const MAX_COMPARISONS = 20_000_000;

/**
 * The budget that several diffs share: contents in bytes, and steps of comparison, which grow with the square
 * of the number of changed lines. Once the steps are used up, the old and the new text are shown in full.
 */
export class DiffBudget {
  bytes: number = 16 * 1_024 * 1_024;
  steps = 20_000_000;
}

/** The contents of a file: `undefined` if it does not exist, its size in bytes if it is too long. */
export type DiffedContents = Buffer | undefined | number;

/** The size up to which {@link fileDiff} needs the contents of a file, in bytes. */
export const MAX_DIFFED_BYTES: number = MAX_BYTES;

/**
 * Returns a unified diff of a file, with three lines of context. It contains text of the files, which must be
 * escaped before it is shown.
 */
export function fileDiff(
  path: string,
  before: DiffedContents,
  after: DiffedContents,
  budget: DiffBudget = new DiffBudget(),
): string {
  const oldName = before === undefined ? "/dev/null" : quoted(`a/${path}`);
  const newName = after === undefined ? "/dev/null" : quoted(`b/${path}`);
  const [oldText, newText] = [textOf(before), textOf(after)];
  if (oldText === undefined || newText === undefined) {
    const isLong = typeof before === "number" || typeof after === "number";
    return `${isLong ? "Long files" : "Binary files"} ${oldName} and ${newName} differ\n`;
  }
  const lines = countLines(oldText) + countLines(newText);
  const most = Math.min(MAX_EDITS, MAX_COMPARISONS / lines, Math.sqrt(budget.steps));
  const options = { context: 3, maxEditLength: Math.floor(most) };
  const patch = createTwoFilesPatch(oldName, newName, oldText, newText, undefined, undefined, options);
  const edits = patch === undefined ? options.maxEditLength : (patch.match(/^[+-]/gm)?.length ?? 0);
  budget.steps = Math.max(0, budget.steps - edits ** 2);
  return withoutRule(patch ?? wholeDiff(oldName, newName, oldText, newText));
}

function countLines(text: string): number {
  let count = 1;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) count++;
  return count;
}

/** Stands in for a diff when the budget is used up. */
export function omittedDiff(path: string): string {
  return `File ${quoted(path)} differs. There are too many changes to show all diffs: read this one by its path\n`;
}

function textOf(contents: DiffedContents): string | undefined {
  if (contents === undefined) return "";
  if (typeof contents === "number" || contents.includes(0) || !isUtf8(contents)) return undefined;
  return contents.toString("utf8");
}

/** Shows the old and the new text in full: finding their common lines would take too long. */
function wholeDiff(oldName: string, newName: string, oldText: string, newText: string): string {
  const [removed, added] = [linesOf(oldText, "-"), linesOf(newText, "+")];
  const range = (count: number): string => `${count === 0 ? 0 : 1},${count}`;
  const header = `--- ${oldName}\n+++ ${newName}\n@@ -${range(removed.count)} +${range(added.count)} @@\n`;
  return header + removed.text + added.text;
}

function linesOf(text: string, sign: string): { readonly text: string; readonly count: number } {
  if (text === "") return { text: "", count: 0 };
  const lines = text.split("\n");
  const hasEnd = lines.at(-1) === "";
  if (hasEnd) lines.pop();
  const shown = lines.map((line) => `${sign}${line}\n`).join("");
  return { text: hasEnd ? shown : `${shown}\\ No newline at end of file\n`, count: lines.length };
}

/** jsdiff begins with a rule of equals signs, which `git apply` and `patch` ignore. */
function withoutRule(patch: string): string {
  return patch.replace(/^=+\n/, "");
}

const PLAIN = /^[^\p{C}"\\]*$/u;

/** A name that contains a line break could pass for a line of the diff. */
function quoted(name: string): string {
  return PLAIN.test(name) ? name : JSON.stringify(name);
}
