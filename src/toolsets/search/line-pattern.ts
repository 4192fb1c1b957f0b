import { beginning } from "../../base/text.ts";
import { requiredBeginning, TextFinder } from "../../base/text-finder.ts";
import { requiredLiteral } from "../../patterns/find-text.ts";
import { compilePattern, type Pattern } from "../../patterns/pattern.ts";
import { PatternError } from "../../patterns/pattern-syntax.ts";
import { ToolFailure } from "../../tool/tool-failure.ts";

/** A class of characters, or an escape: what is in them is no syntax of other kinds. */
const ESCAPE_OR_CLASS = /\\[\s\S]|\[\^?\]?(?:\\[\s\S]|\[:\^?\w+:\]|[^\]\\])*\]/g;

/**
 * What models write in the syntax of ripgrep, PCRE, Python or Perl, and what to write instead. The first that a pattern has is named.
 * Some of it is valid in ECMAScript, where it matches something else: a pattern is matched against single lines, and `\\A` is an A.
 */
const FOREIGN: readonly (readonly [syntax: RegExp, next: string])[] = [
  [
    /^\(\?[imsxuU-]*i[imsxuU-]*\)/,
    "Inline flags such as (?i) are not supported: leave it out, and set ignoreCase to true.",
  ],
  [
    /\(\?[imsxuUaL]*-?[imsxuUaL]+[):]/,
    "Inline flags are not supported: leave them out. ignoreCase: true takes upper and lower case as the same, and each line is matched on its own.",
  ],
  [/\(\?P<(\w+)>/, "Write named groups as (?<name>…), or as (?:…), since nothing refers to them."],
  [
    /\(\?P[=>]|\(\?(?:R|&|\d)|\\g[<{\d]|\\k<|\\[1-9]/,
    "Back-references and recursion are not supported: write the text out, or search for a part of it.",
  ],
  [
    /\(\?<[=!]/,
    "Lookbehind is not supported: search for the whole text, with what comes before it, and look at the lines.",
  ],
  [
    /\(\?[=!]/,
    "Lookahead is not supported: search for the whole text, with what comes after it, and look at the lines.",
  ],
  [
    /\(\?>|(?:[*+?]|\{\d+(?:,\d*)?\})\+/,
    "Possessive quantifiers and atomic groups are not supported: write the quantifier without the second +, and (?:…) for (?>…). Matching takes linear time anyway.",
  ],
  [/\(\?#/, "Comments are not supported: leave (?#…) out."],
  [/\(\?\(/, "Conditions in patterns are not supported: write alternatives as (?:a|b)."],
  [/\\A/, "\\A is not supported: write ^, as each line is matched on its own."],
  [/\\[zZ]/, "\\z and \\Z are not supported: write $, as each line is matched on its own."],
  [/\\G/, "\\G is not supported: leave it out."],
  [
    /\\[nR]|\n/,
    "A pattern is matched against each line on its own, so that nothing matches a line break: search for one of the lines, and set context to see those around it.",
  ],
  [/\\h/, "\\h is not supported: write [ \\t] for blanks, or [0-9a-fA-F] for hexadecimal digits."],
  [/\\[QE]/, "\\Q…\\E is not supported: put a backslash before each special character."],
  [/\\[KXCN]/, "\\K, \\X, \\C and \\N are not supported: leave \\K out, and write . for one character."],
  [/\\[ae](?![a-z])/, "\\a and \\e are not supported: write \\x07 and \\x1b."],
];

const POSIX: Readonly<Record<string, string>> = {
  alpha: "A-Za-z",
  digit: "0-9",
  alnum: "A-Za-z0-9",
  upper: "A-Z",
  lower: "a-z",
  space: "\\s",
  blank: " \\t",
  punct: "!-/:-@\\[-`{-~",
  word: "\\w",
  xdigit: "0-9A-Fa-f",
  cntrl: "\\x00-\\x1f\\x7f",
  print: " -~",
  graph: "!-~",
};

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
  /** The text that the pattern matches, if it is a literal. */
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

/**
 * Returns a replacement for syntax that these patterns do not support; `undefined` if a pattern has no known
 * one.
 */
function foreignSyntax(pattern: string): string | undefined {
  const [, negation = "", name = ""] = /\[[^\]]*\[:(\^?)(\w+):\]/.exec(pattern) ?? [];
  const posix = Object.hasOwn(POSIX, name) ? POSIX[name] : undefined;
  if (posix !== undefined) {
    const written = negation === "" ? `[${posix}]` : `[^${posix}]`;
    return `Classes such as [[:${negation}${name}:]] are not supported: write ${written}.`;
  }
  // Escapes stay, without those of backslashes; of classes, only the escapes of line breaks mean the same outside.
  const outside = pattern.replace(ESCAPE_OR_CLASS, (part) => {
    if (part.startsWith("[")) return "[]";
    return /^\\\w/.test(part) ? part : "_";
  });
  return FOREIGN.find(([syntax]) => syntax.test(outside))?.[1];
}
