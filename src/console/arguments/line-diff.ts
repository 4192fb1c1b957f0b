import { diffLines } from "diff";

/** A line of a difference. */
export interface DiffLine {
  readonly sign: "+" | "-" | " ";
  readonly text: string;
  /** Where the line differs from the one that it replaces, or is replaced by; absent if all of it is new or gone. */
  readonly changed?: readonly [from: number, to: number];
}

/** Maximum number of changed lines that are compared; beyond it, one text is shown after the other. */
const MAX_EDITS = 2_000;

/** Compares two texts by their lines. */
export function lineDiff(before: string, after: string): readonly DiffLine[] {
  const changes = diffLines(before, after, { maxEditLength: MAX_EDITS }) ?? [
    { value: before, removed: true, added: false },
    { value: after, removed: false, added: true },
  ];
  const lines: DiffLine[] = [];
  for (const [at, { value, added, removed }] of changes.entries()) {
    const sign = added ? "+" : removed ? "-" : " ";
    const own = linesOf(value);
    const other = added ? changes[at - 1] : changes[at + 1];
    const isReplaced = added ? other?.removed === true : removed && other?.added === true;
    const others = isReplaced && other !== undefined ? linesOf(other.value) : [];
    for (const [index, text] of own.entries()) {
      const counterpart = others.length === own.length ? others[index] : undefined;
      const changed = counterpart === undefined ? undefined : changedPart(text, counterpart);
      lines.push({ sign, text, ...(changed && { changed }) });
    }
  }
  return lines;
}

function linesOf(text: string): readonly string[] {
  if (text === "") return [];
  return (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n");
}

/** Maximum number of characters of a word beside a change. */
const MAX_WORD = 20;

/** Where a line differs from another one: whole words, so that the difference can be read. */
function changedPart(text: string, other: string): readonly [number, number] | undefined {
  const most = Math.min(text.length, other.length);
  let start = 0;
  while (start < most && text.charCodeAt(start) === other.charCodeAt(start)) start++;
  let end = 0;
  while (
    end < most - start &&
    text.charCodeAt(text.length - 1 - end) === other.charCodeAt(other.length - 1 - end)
  )
    end++;
  for (let by = 0; by < MAX_WORD && start > 0 && isWord(text.charAt(start - 1)); by++) start--;
  for (let by = 0; by < MAX_WORD && end > 0 && isWord(text.charAt(text.length - end)); by++) end--;
  // Where the lines have nothing in common, marking all of it says nothing.
  return start === 0 && end === 0 ? undefined : [start, text.length - end];
}

function isWord(character: string): boolean {
  return /[\p{L}\p{N}\p{M}_\ud800-\udfff]/u.test(character);
}

/** Changes that follow each other without an unchanged line between them. */
export interface Hunk {
  /** The number of the line with which it begins, from 0 on, in the lines of the difference. */
  readonly at: number;
  readonly lines: readonly DiffLine[];
  /** What is replaced by what: equal for hunks that make the same change. */
  readonly signature: string;
}

/** Returns the changes of a difference. */
export function hunksOf(lines: readonly DiffLine[]): readonly Hunk[] {
  const hunks: { at: number; lines: DiffLine[] }[] = [];
  for (const [at, line] of lines.entries()) {
    if (line.sign === " ") continue;
    const last = hunks.at(-1);
    if (last !== undefined && last.at + last.lines.length === at) last.lines.push(line);
    else hunks.push({ at, lines: [line] });
  }
  return hunks.map((hunk) => ({ ...hunk, signature: signatureOf(hunk.lines) }));
}

function signatureOf(lines: readonly DiffLine[]): string {
  return lines
    .map(({ sign, text, changed }) => sign + (changed ? text.slice(...changed) : text).trim())
    .join("\n");
}

/** The least number of changes of which one can stand out, and the least share of them that must be alike. */
const MIN_HUNKS = 5;
const MIN_SHARE = 0.6;

/**
 * Returns the changes that differ from most: if forty hunks rename a function, the one that does something else. None if
 * there are few, or they have nothing in common.
 */
export function oddHunks(hunks: readonly Hunk[]): readonly Hunk[] {
  if (hunks.length < MIN_HUNKS) return [];
  const counts = new Map<string, number>();
  for (const { signature } of hunks) counts.set(signature, (counts.get(signature) ?? 0) + 1);
  const [usual = "", times = 0] = [...counts].reduce((most, entry) => (entry[1] > most[1] ? entry : most));
  return times / hunks.length < MIN_SHARE ? [] : hunks.filter(({ signature }) => signature !== usual);
}
