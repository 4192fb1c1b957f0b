import { beginning, ending } from "../../base/text.ts";

/** The longest line that is shown as a whole, in UTF-16 code units, and how much is shown of longer ones. */
const MAX_SHOWN = 500;
const BEFORE_MATCH = 150;

/** Says how a line is shown that was cut. */
export const CUT_LINES: string = `Lines longer than ${MAX_SHOWN} characters are cut, which … shows.`;

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
