import { isUtf8 } from "node:buffer";
import { createTwoFilesPatch } from "diff";

/** The longest file whose difference is computed, and the most lines by which two files are compared line by line. */
const MAX_BYTES: number = 1_024 * 1_024;
const MAX_EDITS = 2_000;

/** The contents of a file: `undefined` if there is none, a number if there are too many bytes. */
export type DiffedContents = Buffer | undefined | number;

/** The most bytes of a file of which {@link fileDiff} needs the contents. */
export const MAX_DIFFED_BYTES: number = MAX_BYTES;

/** Returns a unified diff of a file, with three lines of context. Its text is that of the files, and not safe to be shown. */
export function fileDiff(path: string, before: DiffedContents, after: DiffedContents): string {
  const oldName = before === undefined ? "/dev/null" : quoted(`a/${path}`);
  const newName = after === undefined ? "/dev/null" : quoted(`b/${path}`);
  const [oldText, newText] = [textOf(before), textOf(after)];
  if (oldText === undefined || newText === undefined) {
    const isLong = typeof before === "number" || typeof after === "number";
    return `${isLong ? "Long files" : "Binary files"} ${oldName} and ${newName} differ\n`;
  }
  const options = { context: 3, maxEditLength: MAX_EDITS };
  const patch = createTwoFilesPatch(oldName, newName, oldText, newText, undefined, undefined, options);
  return withoutRule(patch ?? wholeDiff(oldName, newName, oldText, newText));
}

function textOf(contents: DiffedContents): string | undefined {
  if (contents === undefined) return "";
  if (typeof contents === "number" || contents.includes(0) || !isUtf8(contents)) return undefined;
  return contents.toString("utf8");
}

/** Files that differ in most of their lines are shown one after the other: to find what they share would take too long. */
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
