import type { JsonObject } from "../../json/value.ts";
import { compileProgram, type Program } from "../../patterns/automaton.ts";
import { type Answer, findText } from "../../patterns/find-text.ts";
import { compilePattern, type PatternOptions } from "../../patterns/pattern.ts";
import { PatternError } from "../../patterns/pattern-syntax.ts";
import { AMBIGUITIES, MAX_MATCHED_LENGTH } from "../match/ambiguous-text.ts";
import { globPattern } from "../match/glob.ts";
import { unlessReferring } from "../rule/conditions/value-reference.ts";
import type { RuleCondition } from "../rule/rule.ts";

/** What all texts of a format match that the validator checks, and more than these. */
const FORMATS: Readonly<Record<string, RegExp>> = {
  date: /^\d{4}-(?:0\d|1[0-2])-(?:[0-2]\d|3[01])$/,
  time: /^(?:[01]\d|2[0-3]):[0-5]\d:[0-6]\d/,
  "date-time": /^\d{4}-(?:0\d|1[0-2])-(?:[0-2]\d|3[01])[t\s](?:[01]\d|2[0-3]):[0-5]\d:[0-6]\d/i,
  duration: /^P[\dTYMDHSW.,]+$/,
  uri: /^[a-z][a-z0-9+.-]*:/i,
  url: /^(?:https?|ftp):\/\//i,
  email: /^[^@\s]+@[^@\s]+$/,
  hostname: /^[a-z0-9.-]+$/i,
  ipv4: /^\d{1,3}(?:\.\d{1,3}){3}$/,
  ipv6: /^[\da-f:.]*:[\da-f:.]*$/i,
  uuid: /^(?:urn:uuid:)?[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i,
};

/** The longest text that is searched for because a schema requires it. */
const MAX_LEAST = 256;

/** Whether a text may have a format: certainly not if this is `false`. */
export function hasFormat(format: unknown, text: string): boolean {
  return typeof format !== "string" || FORMATS[format]?.test(text) !== false;
}

/**
 * Whether some text that all of these schemas accept may meet a condition: certainly not if this is `false`.
 *
 * @throws {SyntaxError} if a glob is not valid.
 */
export function canBeText(schemas: readonly JsonObject[], condition: RuleCondition): boolean {
  const language = new Language();
  try {
    const isWanted = every([language.accepts(schemas), language.meets(condition)]);
    return language.find(isWanted, longestOf(schemas)) !== "none";
  } catch (error) {
    if (error instanceof PatternError) return true;
    throw error;
  }
}

/** Whether no text at all has a part that a regular expression matches. If this is `false`, there may be one. */
export function isNeverMatched(regex: string, options: PatternOptions = {}): boolean {
  try {
    compilePattern(regex, options);
    const found = findText([compileProgram(regex, options)], ([isMatched]) => isMatched, MAX_MATCHED_LENGTH);
    return found === "none";
  } catch (error) {
    // An invalid pattern is reported as such.
    if (error instanceof PatternError) return false;
    throw error;
  }
}

function longestOf(schemas: readonly JsonObject[]): number {
  const lengths = schemas.flatMap(({ maxLength }) => (typeof maxLength === "number" ? [maxLength] : []));
  return Math.min(MAX_MATCHED_LENGTH, ...lengths);
}

/** Whether a text is meant, by what each program says of it. */
type Test = (matches: readonly Answer[]) => Answer;

const YES: Test = () => true;
const NO: Test = () => false;

/** The texts that meet a condition, as what some programs say of them. */
class Language {
  readonly #programs: Program[] = [];
  readonly #known = new Map<string, number>();

  find(isWanted: Test, maxLength: number): ReturnType<typeof findText> {
    return findText(this.#programs, isWanted, maxLength);
  }

  accepts(schemas: readonly JsonObject[]): Test {
    const tests = schemas.flatMap(({ pattern, format, minLength }): readonly Test[] => [
      ...(typeof pattern === "string" ? [this.#valid(pattern)] : []),
      ...(typeof format === "string" && FORMATS[format] !== undefined ? [this.#test(FORMATS[format])] : []),
      ...(typeof minLength === "number"
        ? [this.#test(new RegExp(`^[^]{${Math.min(minLength, MAX_LEAST)}}`))]
        : []),
    ]);
    return every(tests);
  }

  /** What certainly meets a condition, or may do so. */
  meets(condition: RuleCondition): Test {
    if ("not" in condition) return this.#fails(condition.not);
    if ("all" in condition) return every(condition.all.map((part) => this.meets(part)));
    if ("any" in condition) return some(condition.any.map((part) => this.meets(part)));
    if ("range" in condition) return NO;
    return this.#textual(condition) ?? YES;
  }

  #fails(condition: RuleCondition): Test {
    if ("not" in condition) return this.meets(condition.not);
    if ("all" in condition) return some(condition.all.map((part) => this.#fails(part)));
    if ("any" in condition) return every(condition.any.map((part) => this.#fails(part)));
    if ("range" in condition) return NO;
    return this.#textual(condition, "missed") ?? YES;
  }

  /** The test of a condition on texts: for globs and prefixes, only of texts that are not ambiguous. */
  #textual(written: RuleCondition, missed?: "missed"): Test | undefined {
    const condition = unlessReferring(written);
    if (condition === undefined) return undefined;
    const said = (test: Test): Test => (missed === undefined ? test : not(test));
    if ("regex" in condition) return said(this.#valid(condition.regex));
    if ("equals" in condition || "oneOf" in condition) {
      const wanted = "equals" in condition ? [condition.equals] : condition.oneOf;
      return said(
        some(wanted.filter((each) => typeof each === "string").map((text) => this.#literal(text, "$"))),
      );
    }
    const patterns =
      "glob" in condition
        ? [condition.glob].flat().map((glob) => this.#program(globPattern(glob)))
        : "prefix" in condition
          ? [this.#literal(condition.prefix)]
          : undefined;
    if (patterns === undefined) return undefined;
    return every([said(some(patterns)), not(this.#ambiguous())]);
  }

  #ambiguous(): Test {
    return some(
      AMBIGUITIES.map(({ pattern, unless }) =>
        every([this.#test(pattern), ...(unless === undefined ? [] : [not(this.#test(unless))])]),
      ),
    );
  }

  #literal(text: string, end = ""): Test {
    const escaped = Array.from(text, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
    return this.#program(`^${escaped.join("")}${end}`);
  }

  /** @throws {PatternError} if a schema has a pattern that is not supported. */
  #valid(pattern: string): Test {
    compilePattern(pattern);
    return this.#program(pattern);
  }

  #test({ source, ignoreCase }: RegExp): Test {
    return this.#program(source, ignoreCase);
  }

  #program(source: string, ignoreCase = false): Test {
    const key = `${ignoreCase ? "i" : ""}/${source}`;
    let index = this.#known.get(key);
    if (index === undefined) {
      index = this.#programs.push(compileProgram(source, { ignoreCase })) - 1;
      this.#known.set(key, index);
    }
    const at = index;
    return (matches) => matches[at];
  }
}

function every(tests: readonly Test[]): Test {
  return (matches) => {
    let all: Answer = true;
    for (const test of tests) {
      const answer = test(matches);
      if (answer === false) return false;
      all &&= answer;
    }
    return all;
  };
}

function some(tests: readonly Test[]): Test {
  return not(every(tests.map(not)));
}

function not(test: Test): Test {
  return (matches) => {
    const answer = test(matches);
    return answer === undefined ? undefined : !answer;
  };
}
