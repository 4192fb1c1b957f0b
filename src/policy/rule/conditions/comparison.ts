import { equalJson, type JsonValue } from "../../../json/value.ts";
import { compilePattern, type Pattern } from "../../../patterns/pattern.ts";
import { isAmbiguous, MAX_MATCHED_LENGTH } from "../../match/ambiguous-text.ts";
import { compileGlob } from "../../match/glob.ts";
import { canonicalPattern, canonicalUrl, foldPath, type SpelledInput } from "../../match/spellings.ts";
import type { ConstantCondition } from "../rule.ts";

/** One kind of condition, on a value as it is written, and on other spellings of it. */
export interface Comparison {
  readonly written: (value: JsonValue) => Match;
  /** Whether another spelling of a path or URL, or of a value that contains some, meets it. */
  readonly spelled: (other: SpelledInput, value: JsonValue) => boolean;
  /** The same where neither the case of letters nor their form matters. */
  readonly folded: (other: SpelledInput, value: JsonValue) => boolean;
}

type Textual = Extract<
  ConstantCondition,
  { equals: unknown } | { oneOf: unknown } | { glob: unknown } | { prefix: unknown } | { regex: unknown }
>;

/**
 * Compares a value with a condition. If it is a declared path or URL, all its spellings must agree: whether it matches is
 * unclear otherwise.
 */
export function compareSpelled(
  { written, spelled, folded }: Comparison,
  value: JsonValue,
  otherSpellings: readonly SpelledInput[] | undefined,
): Match {
  const match = written(value);
  if (otherSpellings === undefined || match === "unclear") return match;
  for (const other of otherSpellings) {
    if (spelled(other, value) !== (match === "yes")) return "unclear";
    if (match === "no" && other.relative !== other.absolute && folded(other, value)) return "unclear";
  }
  return match;
}

/** Compiles a condition on texts, or one that compares a value with given ones. */
export function compileComparison(condition: Textual): Comparison {
  if ("equals" in condition) return equalTo([condition.equals]);
  if ("oneOf" in condition) return equalTo(condition.oneOf);
  if ("glob" in condition) return matchedBy([condition.glob].flat());
  if ("prefix" in condition) return beginningWith(condition.prefix);
  return matching(condition.regex);
}

function equalTo(wanted: readonly JsonValue[]): Comparison {
  const scalars = new Set<JsonValue>(wanted.filter((item) => typeof item !== "object"));
  const objects = wanted.filter((item) => typeof item === "object");
  const isWanted = (value: JsonValue): boolean =>
    scalars.has(value) || objects.some((item) => equalJson(item, value));
  const texts = wanted.filter((item) => typeof item === "string").map(spellingOf);
  const compare = ({ relative, absolute }: SpelledInput, fold: (text: string) => string): boolean => {
    if (typeof relative !== "string" || typeof absolute !== "string")
      return isWanted(relative) || isWanted(absolute);
    const spellings = [fold(relative), fold(absolute)];
    return texts.some((text) => spellings[text.startsWith("/") ? 1 : 0] === fold(text));
  };
  return {
    written: (value) => yesOrNo(isWanted(value)),
    spelled: (other) => compare(other, (text) => text),
    folded: (other) => compare(other, foldPath),
  };
}

/** A whole path or URL, as declared arguments are spelled. */
export function spellingOf(text: string): string {
  const url = canonicalUrl(text);
  return url.startsWith("http") ? url : canonicalPattern(text).replace(/(?<=.)\/+$/, "");
}

function matchedBy(patterns: readonly string[]): Comparison {
  const globs = patterns.map(compileGlob);
  const spelled = patterns.map((pattern) => globOf(canonicalPattern(pattern)));
  let folded: readonly SpelledTest[] | undefined;
  return {
    written: pathTest((text) => globs.some((matches) => matches(text))),
    spelled: (other) => spelled.some((matches) => matches(other)),
    folded: (other) => {
      folded ??= patterns.map((pattern) => globOf(foldPath(canonicalPattern(pattern))));
      const both = { relative: foldText(other.relative), absolute: foldText(other.absolute) };
      return folded.some((matches) => matches(both));
    },
  };
}

type SpelledTest = (other: SpelledInput) => boolean;

/** An absolute glob is compared with the absolute path, and others with the one in the workspace. */
function globOf(pattern: string): SpelledTest {
  let matches: (text: string) => boolean;
  try {
    matches = compileGlob(pattern);
  } catch {
    // A range such as [Z-a] is out of order where case does not matter.
    return () => true;
  }
  const test = (value: JsonValue): boolean => typeof value === "string" && matches(value);
  if (pattern.startsWith("{")) return ({ relative, absolute }) => test(relative) || test(absolute);
  return pattern.startsWith("/") ? ({ absolute }) => test(absolute) : ({ relative }) => test(relative);
}

function beginningWith(prefix: string): Comparison {
  const canonical = canonicalPattern(prefix);
  const compare = (other: SpelledInput, value: JsonValue, fold: (text: string) => string): boolean => {
    const path = canonical.startsWith("/") ? other.absolute : other.relative;
    return typeof path === "string" && fold(ending(path, value)).startsWith(fold(canonical));
  };
  return {
    written: pathTest((text) => text.startsWith(prefix)),
    spelled: (other, value) => compare(other, value, (text) => text),
    folded: (other, value) => compare(other, value, foldPath),
  };
}

function matching(regex: string): Comparison {
  const pattern = compilePattern(regex);
  let folded: Pattern | undefined;
  return {
    written: (value) => {
      if (typeof value !== "string" || value.length > MAX_MATCHED_LENGTH) return "unclear";
      return yesOrNo(pattern.test(value));
    },
    spelled: (other, value) => testSpelled(regex, pattern, other, value),
    folded: (other, value) => {
      folded ??= compilePattern(regex, { ignoreCase: true });
      return testSpelled(regex, folded, other, value);
    },
  };
}

/** Where the expression can begin to match an absolute path, and where one in the workspace. */
const BEGINS_ABSOLUTE = /(?:\^|[(|:])\\?\//;
const ONLY_ABSOLUTE = /^\^\\?\/[^|]*$/;

function testSpelled(
  regex: string,
  pattern: Pattern,
  { relative, absolute }: SpelledInput,
  value: JsonValue,
): boolean {
  if (typeof relative !== "string" || typeof absolute !== "string") return false;
  const [inside, outside] = [ending(relative, value), ending(absolute, value)];
  if (ONLY_ABSOLUTE.test(regex)) return pattern.test(outside);
  if (pattern.test(inside)) return true;
  if (!regex.includes("^")) return pattern.test(`/${inside}`);
  return BEGINS_ABSOLUTE.test(regex) && pattern.test(outside);
}

/** A path as it is compared with the beginning of one: with the slash at its end with which it is written. */
function ending(path: string, value: JsonValue): string {
  return typeof value === "string" && value.endsWith("/") && !path.endsWith("/") ? `${path}/` : path;
}

function foldText(value: JsonValue): JsonValue {
  return typeof value === "string" ? foldPath(value) : value;
}

function pathTest(matches: (text: string) => boolean): (value: JsonValue) => Match {
  return (value) => (typeof value !== "string" || isAmbiguous(value) ? "unclear" : yesOrNo(matches(value)));
}

/** Whether a condition or rule matches; `unclear` if that cannot be decided. */
export type Match = "yes" | "no" | "unclear";

export function yesOrNo(isTrue: boolean): Match {
  return isTrue ? "yes" : "no";
}

/** `unclear` remains unclear. */
export function not(match: Match): Match {
  if (match === "unclear") return match;
  return match === "yes" ? "no" : "yes";
}

/** `no` if any item does not match, even if some are unclear. */
export function allOf<T>(items: readonly T[], test: (item: T) => Match): Match {
  let match: Match = "yes";
  for (const item of items) {
    const answer = test(item);
    if (answer === "no") return "no";
    if (answer === "unclear") match = "unclear";
  }
  return match;
}

/** `yes` if any item matches, even if some are unclear. */
export function anyOf<T>(items: readonly T[], test: (item: T) => Match): Match {
  return not(allOf(items, (item) => not(test(item))));
}

/** The answer that all items have in common; otherwise `unclear`. */
export function eachOf<T>(items: readonly T[], test: (item: T) => Match): Match {
  let match: Match | undefined;
  for (const item of items) {
    const answer = test(item);
    if (answer === "unclear" || (match !== undefined && answer !== match)) return "unclear";
    match = answer;
  }
  return match ?? "unclear";
}
