import { beginning, ending } from "../../base/text.ts";
import type { Pace } from "../files/pace.ts";
import type { LinePattern } from "./line-pattern.ts";

/** How much is searched between two looks at the time, in characters of a simple pattern. */
const STEP = 32_768;

/** The cost of a line in addition to its characters. */
const LINE_COST = 64;

/** A line that matches, or one around it. */
export interface FoundLine extends Line {
  readonly isMatch: boolean;
}

/** The matches in a text. */
export interface GrepResult {
  /** In order, each of them once. */
  readonly lines: readonly FoundLine[];
  readonly matches: number;
  /** Whether there are more matches than were asked for. */
  readonly hasMore: boolean;
  /** Whether there is a line of which only the beginning was searched. */
  readonly hasLongLine: boolean;
}

/** Options of {@link grepText}. */
interface GrepOptions {
  readonly pattern: LinePattern;
  /** How many lines before and after each match are returned. */
  readonly context: number;
  /** Maximum number of matches. */
  readonly limit: number;
  readonly pace: Pace;
}

/** A line of a text. */
export interface Line {
  /** From 1. */
  readonly number: number;
  /** Without the line end. */
  readonly text: string;
}

/** The longest line that is shown as a whole, in UTF-16 code units, and how much is shown of longer ones. */
const MAX_SHOWN = 500;

const BEFORE_MATCH = 150;

/** Says how a line is shown that was cut. */
export const CUT_LINES: string = `Lines longer than ${MAX_SHOWN} characters are cut, which … shows.`;

/** Maximum number of characters of lines in an output, in UTF-16 code units. */
const MAX_LENGTH = 100_000;

/** What to do about too many matches. */
export const NARROWER = "Narrow the pattern, the glob or the path";

/** The lines of a file, as the model reads them. */
export interface FileLines {
  readonly path: string;
  readonly lines: readonly string[];
}

/** Which matches are returned. */
interface MatchRange {
  /** The most. */
  readonly limit: number;
  /** How many are skipped. */
  readonly offset: number;
}

/** The lines that `grep` returns. */
export class MatchedLines {
  readonly files: FileLines[] = [];
  readonly #pattern: LinePattern;
  readonly #range: MatchRange;
  readonly #note: (text: string) => void;
  /** How many more matches are skipped. */
  #skip: number;
  #left: number;
  #length = 0;

  /** @param note Tells what is left out. */
  constructor(pattern: LinePattern, range: MatchRange, note: (text: string) => void) {
    this.#pattern = pattern;
    this.#range = range;
    this.#skip = range.offset;
    this.#left = range.offset + range.limit;
    this.#note = note;
  }

  /** How many more matches may be added, with those that are skipped. */
  get left(): number {
    return this.#left;
  }

  /** Adds what was found in the next file. Returns `false` if nothing can be added any more. */
  add(path: string, found: Pick<GrepResult, "lines" | "matches" | "hasMore">): boolean {
    const lines: string[] = [];
    for (const line of found.lines) {
      if (this.#skip > 0) {
        if (line.isMatch) this.#skip--;
        continue;
      }
      if (isCut(line.text)) this.#note(CUT_LINES);
      const text = describeLine(line, this.#pattern);
      this.#length += text.length;
      if (this.#length > MAX_LENGTH) break;
      lines.push(text);
    }
    if (lines.length > 0) this.files.push({ path, lines });
    this.#left -= found.matches;
    if (this.#length > MAX_LENGTH) {
      this.#note(`Only the first ${MAX_LENGTH} characters of results are shown. ${NARROWER}.`);
      return false;
    }
    const { limit, offset } = this.#range;
    if (found.hasMore) this.#note(moreThan(limit, NARROWER, offset + limit));
    return !found.hasMore;
  }
}

function describeLine(
  { number, text, isMatch }: Line & { readonly isMatch: boolean },
  pattern: LinePattern,
): string {
  const at = isMatch && isCut(text) ? pattern.indexIn(text) : 0;
  return `${number}${isMatch ? ":" : "-"}${shownLine(text, at)}`;
}

/** Whether a line is shown in part only. */
export function isCut(line: string): boolean {
  return line.length > MAX_SHOWN;
}

/** Returns a line as a result shows it: a long one is cut to what is around the match. */
export function shownLine(line: string, matchAt: number): string {
  if (!isCut(line)) return line;
  const start = Math.max(0, Math.min(matchAt - BEFORE_MATCH, line.length - MAX_SHOWN));
  const tail = start === 0 ? line : ending(line, line.length - start);
  const piece = beginning(tail, MAX_SHOWN);
  return `${start > 0 ? "…" : ""}${piece}${piece.length < tail.length ? "…" : ""}`;
}

/** Splits a text into lines. A line end at the end of the text begins no line. */
export function* linesOf(text: string): Generator<Line, void, undefined> {
  let number = 0;
  for (let start = 0; start < text.length; ) {
    const found = text.indexOf("\n", start);
    const end = found < 0 ? text.length : found;
    yield {
      number: ++number,
      text: text.slice(start, text[end - 1] === "\r" && end > start ? end - 1 : end),
    };
    start = end + 1;
  }
}

/** Finds the lines of a text that match. Ends early when the time is up. */
export async function grepText(
  text: string,
  { pattern, context, limit, pace }: GrepOptions,
): Promise<GrepResult> {
  const found: FoundLine[] = [];
  /** The lines before the current one that were not returned. */
  let before: Line[] = [];
  let after = 0;
  let matches = 0;
  let hasLongLine = false;
  let hasMore = false;
  let work = 0;
  for (const line of linesOf(text)) {
    work += (line.text.length + LINE_COST) * pattern.work;
    if (work > STEP) {
      work = 0;
      await pace.turn();
      if (pace.isOver) break;
    }
    hasLongLine ||= pattern.isTooLong(line.text);
    const isMatch = pattern.matches(line.text);
    if (isMatch && matches === limit) {
      hasMore = true;
      break;
    }
    if (isMatch) {
      matches++;
      found.push(...before.map((each) => ({ ...each, isMatch: false })), { ...line, isMatch });
      before = [];
      after = context;
    } else if (after > 0) {
      after--;
      found.push({ ...line, isMatch });
    } else if (context > 0) {
      before.push(line);
      if (before.length > context) before.shift();
    }
  }
  return { lines: found, matches, hasMore, hasLongLine };
}

/** The schema of the argument `path` of the tools that search. */
export const SEARCH_PATH = {
  type: "string",
  minLength: 1,
  description: "The directory or file to search, relative to the workspace. Default: the workspace",
} as const;

/** The schema of the argument `limit`. */
export const LIMIT = {
  type: "integer",
  minimum: 1,
  maximum: 1_000,
  description: "The most results. Default: 200",
} as const;

/** How many results a call gets by default. */
export const DEFAULT_MATCHES = 200;

/** The schema of the argument `offset`. */
export const OFFSET = {
  type: "integer",
  minimum: 0,
  maximum: 10_000,
  description: "How many results to skip, to go on after those of another call. Default: 0",
} as const;

/** The longest glob, pattern or symbol, in UTF-16 code units. */
export const MAX_PATTERN_LENGTH = 1_024;

/** What descriptions say of the files that are searched. */
export const SEARCHED =
  "Skips .git and what .gitignore files name, and follows no links; other hidden files are searched.";

/**
 * Says that there are more results than a call may return.
 *
 * @param end How many there are to the last one that is returned, with those that were skipped. Absent: a call cannot skip some.
 */
export function moreThan(limit: number, narrower: string, end?: number): string {
  const raise = limit < LIMIT.maximum ? `, or raise limit to at most ${LIMIT.maximum}` : "";
  const next = end === undefined || end > OFFSET.maximum ? "" : `, or go on with offset ${end}`;
  return `There are more results after number ${end ?? limit}. ${narrower}${raise}${next}.`;
}
