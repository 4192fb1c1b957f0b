import type { Pace } from "../files/pace.ts";
import type { LinePattern } from "./line-pattern.ts";
import { type Line, linesOf } from "./lines.ts";

/** How much is searched between two looks at the time, in characters of a simple pattern. */
const STEP = 32_768;

/** What a line costs besides its characters. */
const LINE_COST = 64;

/** A line that matches, or one around it. */
export interface FoundLine extends Line {
  readonly isMatch: boolean;
}

/** What is found in a text. */
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
  /** The most matches. */
  readonly limit: number;
  readonly pace: Pace;
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
