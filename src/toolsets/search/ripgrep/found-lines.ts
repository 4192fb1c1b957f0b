import type { LinePattern } from "../line-pattern.ts";
import type { FoundLine, Line } from "../matched-lines.ts";

/** The lines that ripgrep found in a file. */
export interface FoundFile {
  readonly path: string;
  readonly lines: readonly Line[];
}

/**
 * Reads the lines that ripgrep wrote as `PATH NUL NUMBER:TEXT`, in order. A line that is not complete is left out, and so are files
 * with a NUL in a line.
 */
export function readFound(stdout: string): readonly FoundFile[] {
  const files: { readonly path: string; readonly lines: Line[] }[] = [];
  for (let at = 0; at < stdout.length; ) {
    const nul = stdout.indexOf("\0", at);
    const end = nul < 0 ? -1 : stdout.indexOf("\n", nul);
    if (end < 0) break;
    const path = stdout.slice(at, nul);
    const [, number = ""] = /^(\d+)[:-]/.exec(stdout.slice(nul + 1, nul + 20)) ?? [];
    const start = nul + number.length + 2;
    const text = stdout.slice(start, stdout[end - 1] === "\r" && end > start ? end - 1 : end);
    let file = files.at(-1);
    if (file?.path !== path) {
      file = { path, lines: [] };
      files.push(file);
    }
    file.lines.push({ number: Number(number), text });
    at = end + 1;
  }
  return files.filter(({ lines }) => !lines.some(({ text }) => text.includes("\0")));
}

/** What is found among the lines of a file. */
export interface CheckedLines {
  readonly lines: readonly FoundLine[];
  readonly matches: number;
  readonly hasMore: boolean;
}

/**
 * Matches the lines again: ripgrep is asked for more than the pattern matches.
 *
 * @param context How many lines before and after each match are returned.
 * @param limit The most matches.
 */
export function checkLines(
  lines: readonly Line[],
  pattern: LinePattern,
  context: number,
  limit: number,
): CheckedLines {
  const matching = lines.filter(({ text }) => pattern.matches(text));
  const shown = matching.slice(0, limit).map(({ number }) => number);
  const next = matching[limit]?.number ?? Number.POSITIVE_INFINITY;
  const isShown = ({ number }: Line): boolean =>
    number < next && shown.some((each) => Math.abs(each - number) <= context);
  const numbers = new Set(shown);
  return {
    lines: lines.filter(isShown).map((line) => ({ ...line, isMatch: numbers.has(line.number) })),
    matches: shown.length,
    hasMore: matching.length > limit,
  };
}
