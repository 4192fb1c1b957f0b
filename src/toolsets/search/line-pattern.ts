import { beginning } from "../../base/text.ts";
import { requiredBeginning, TextFinder } from "../../base/text-finder.ts";
import { compilePattern, type Pattern } from "../../patterns/pattern.ts";
import { PatternError } from "../../patterns/pattern-syntax.ts";
import { requiredLiteral } from "../../patterns/required-literal.ts";
import { ToolFailure } from "../../tool/tool-failure.ts";
import { foreignSyntax } from "./foreign-syntax.ts";

/** How much of a line is searched, in UTF-16 code units: less of it for large patterns, so that a line takes little time. */
const MAX_LINE = 65_536;
const MIN_LINE = 2_000;
const MAX_LINE_WORK = 1_000_000;

/** The longest line in which a match is looked for again to show it, times the size of the pattern. */
const MAX_SEARCH_WORK = 500_000;

/** Matches a literal, which needs no regular expression. */
const LITERAL = /^[^\\^$.*+?()[\]{}|\ufffd]+$/;

function refusal(message: string): ToolFailure {
  return new ToolFailure("validation_error", message, { effect: "none" });
}

/** A pattern for lines. */
export class LinePattern {
  /** What the pattern matches, if it is nothing but a text. */
  readonly literal: string | undefined;
  /** A text without which no line matches, and which need not be decoded to be found. */
  readonly required: string | undefined;
  /** The cost of a character, in characters of a simple pattern. */
  readonly work: number;
  readonly #pattern: Pattern;
  readonly #finder: TextFinder | undefined;
  readonly #maxLine: number;

  /** @throws {ToolFailure} `validation_error` if it is not a regular expression that matches in linear time. */
  constructor(source: string, ignoreCase: boolean) {
    try {
      this.#pattern = compilePattern(source, { ignoreCase });
    } catch (error) {
      if (!(error instanceof PatternError)) throw error;
      const next =
        foreignSyntax(source) ??
        "Write it without these, or escape special characters such as ( and [ with a backslash.";
      throw refusal(`Invalid pattern: ${error.message}. ${next}`);
    }
    const foreign = foreignSyntax(source);
    if (foreign !== undefined) throw refusal(`Invalid pattern: ${foreign}`);
    const { size, work } = this.#pattern;
    this.literal = !ignoreCase && LITERAL.test(source) ? source : undefined;
    this.#finder = this.literal === undefined ? undefined : new TextFinder(this.literal);
    const required = this.literal ?? (ignoreCase ? undefined : requiredLiteral(source));
    this.required = required === undefined ? undefined : requiredBeginning(required);
    this.work = Math.max(1, work);
    this.#maxLine = Math.min(MAX_LINE, Math.max(MIN_LINE, Math.floor(MAX_LINE_WORK / Math.max(1, size))));
  }

  /** Whether only the beginning of a line is searched. */
  isTooLong(line: string): boolean {
    return this.literal === undefined && line.length > this.#maxLine;
  }

  matches(line: string): boolean {
    return this.#finder === undefined
      ? this.#pattern.test(this.#searched(line))
      : this.#finder.indexIn(line) >= 0;
  }

  /** Returns where the first match in a line begins; 0 if it is not known. */
  indexIn(line: string): number {
    if (this.#finder !== undefined) return this.#finder.indexIn(line);
    const searched = this.#searched(line);
    if (searched.length * this.#pattern.size > MAX_SEARCH_WORK) return 0;
    return Math.max(0, this.#pattern.search(searched));
  }

  #searched(line: string): string {
    return beginning(line, this.#maxLine);
  }
}
