import { LruMap } from "../../base/lru-map.ts";
import type { JsonObject } from "../../json/value.ts";
import { compileProgram, type Program } from "../../patterns/automaton.ts";
import { type Answer, findText, textsOfEach } from "../../patterns/find-text.ts";
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

/**
 * Returns texts that all of these schemas accept: one for each way in which such a text can meet some of the patterns of conditions,
 * and not others, without their constants.
 *
 * @returns `undefined` if there are too many, or a pattern is not supported.
 */
export function textsOfEachKind(
  schemas: readonly JsonObject[],
  conditions: readonly RuleCondition[],
): readonly string[] | undefined {
  const key = JSON.stringify([schemas, conditions]);
  const known = ofEachKind.get(key);
  if (known !== undefined) return known === "too many" ? undefined : known;
  const leaves = conditions.flatMap(leavesOf);
  const paths: readonly RuleCondition[] = leaves.filter((leaf) => "glob" in leaf || "prefix" in leaf);
  const kinds = [kindsOf(schemas, leaves, paths.length > 0)];
  // Texts that are ambiguous: the conditions on paths are unclear then, and the others may be met by other texts.
  if (paths.length > 0 && paths.length < leaves.length)
    kinds.push(
      kindsOf(
        schemas,
        leaves.filter((leaf) => !paths.includes(leaf)),
        false,
      ),
    );
  const texts = kinds.includes(undefined) ? undefined : [...new Set(kinds.flatMap((each) => each ?? []))];
  ofEachKind.set(key, texts ?? "too many");
  return texts;
}

/** Many tools have the same arguments, with the same conditions. */
const ofEachKind: LruMap<string, readonly string[] | "too many"> = new LruMap(256);

function kindsOf(
  schemas: readonly JsonObject[],
  leaves: readonly RuleCondition[],
  isUnambiguous: boolean,
): readonly string[] | undefined {
  const language = new Language();
  try {
    const tests = [language.accepts(schemas), ...language.addPatterns(leaves, isUnambiguous)];
    return language.findEach(every(tests), longestOf(schemas));
  } catch (error) {
    if (error instanceof PatternError) return undefined;
    throw error;
  }
}

function leavesOf(condition: RuleCondition): readonly RuleCondition[] {
  if ("not" in condition) return leavesOf(condition.not);
  if ("all" in condition) return condition.all.flatMap(leavesOf);
  if ("any" in condition) return condition.any.flatMap(leavesOf);
  return unlessReferring(condition) === undefined ? [] : [condition];
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

  findEach(isWanted: Test, maxLength: number): ReturnType<typeof textsOfEach> {
    return textsOfEach(this.#programs, isWanted, maxLength);
  }

  /** Adds the patterns of conditions without parts. Returns tests of texts that are none of their constants, and not ambiguous. */
  addPatterns(leaves: readonly RuleCondition[], isUnambiguous: boolean): readonly Test[] {
    const constants = leaves.flatMap((leaf) => {
      const wanted = "equals" in leaf ? [leaf.equals] : "oneOf" in leaf ? [leaf.oneOf].flat() : [];
      if (wanted.length === 0) this.#textual(leaf);
      return wanted.filter((each) => typeof each === "string");
    });
    const each = [...new Set(constants)].map(escapedText);
    return [
      ...(each.length === 0 ? [] : [not(this.#program(`^(?:${each.join("|")})$`))]),
      ...(isUnambiguous ? [not(this.#ambiguous())] : []),
    ];
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
    return this.#program(`^${escapedText(text)}${end}`);
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

function escapedText(text: string): string {
  return Array.from(text, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`).join("");
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
