import type { GrepResult } from "./grep-text.ts";
import type { LinePattern } from "./line-pattern.ts";
import type { Line } from "./lines.ts";
import { moreThan } from "./search-input.ts";
import { CUT_LINES, isCut, shownLine } from "./shown-line.ts";

/** The most characters of lines in an output, in UTF-16 code units. */
const MAX_LENGTH = 100_000;

/** What to do about too many matches. */
export const NARROWER = "Narrow the pattern, the glob or the path";

/** The lines of a file, as the model reads them. */
export interface FileLines {
  readonly path: string;
  readonly lines: readonly string[];
}

/** The lines that `grep` returns. */
export class MatchedLines {
  readonly files: FileLines[] = [];
  readonly #pattern: LinePattern;
  readonly #limit: number;
  readonly #note: (text: string) => void;
  #left: number;
  #length = 0;

  /**
   * @param limit The most matches.
   * @param note Tells what is left out.
   */
  constructor(pattern: LinePattern, limit: number, note: (text: string) => void) {
    this.#pattern = pattern;
    this.#limit = limit;
    this.#left = limit;
    this.#note = note;
  }

  /** How many more matches may be added. */
  get left(): number {
    return this.#left;
  }

  /** Adds what was found in the next file. Returns `false` if nothing can be added any more. */
  add(path: string, found: Pick<GrepResult, "lines" | "matches" | "hasMore">): boolean {
    const lines: string[] = [];
    for (const line of found.lines) {
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
    if (found.hasMore) this.#note(moreThan(this.#limit, NARROWER));
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
