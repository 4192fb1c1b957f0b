import { equalJson } from "../../../json/equal.ts";
import { lookUp, MISSING, parsePointer, UNREACHABLE } from "../../../json/pointer.ts";
import type { JsonValue } from "../../../json/value.ts";
import { compilePattern } from "../../../patterns/pattern.ts";
import { isAmbiguous, MAX_MATCHED_LENGTH } from "../../match/ambiguous-text.ts";
import { compileGlob } from "../../match/glob.ts";
import type { PolicyRequest } from "../../policy.ts";
import type { RuleCondition, RuleConditions } from "../rule.ts";
import { allOf, anyOf, eachOf, type Match, not, yesOrNo } from "./match.ts";
import { compileFrom, compileLinks, compileWithout, type ProvenanceTest } from "./provenance.ts";

/** The parts of a request that conditions can depend on. */
export type MatchedCall = Pick<PolicyRequest, "input" | "principal" | "sessionId" | "workspace" | "history"> &
  Partial<Pick<PolicyRequest, "tool">>;

/** Decides whether a call meets a condition. */
export type CallTest = (call: MatchedCall) => Match;

/** One entry of a rule's `when`, compiled. */
export interface CompiledCondition {
  /** What it is about, for operators: `/path (glob)`. */
  readonly subject: string;
  readonly test: CallTest;
}

/** Compiles a rule's `when`. All conditions must be met. */
export function compileConditions({ all, any, ...entries }: RuleConditions): CompiledCondition[] {
  const compiled = Object.entries(entries as { readonly [key: string]: RuleCondition }).map(
    ([key, condition]): CompiledCondition => ({
      subject: `${key === "" ? "the input" : key} (${Object.keys(condition).join(", ")})`,
      test: compileCondition(key, condition),
    }),
  );
  for (const nested of all ?? []) compiled.push(...compileConditions(nested));
  if (any !== undefined) {
    const choices = any.map((nested) => compileConditions(nested).map(({ test }) => test));
    const test: CallTest = (call) => anyOf(choices, (tests) => allOf(tests, (each) => each(call)));
    compiled.push({ subject: "any", test });
  }
  return compiled;
}

/**
 * Compiles one condition on the value that a key of `when` names: see `RuleConditions`.
 *
 * A missing value does not match; whether it matches `not` is unclear. Whether a value matches is unclear
 * - if the pointer leads through a value that cannot have such a member, for example a string, or a list by
 *   name, or `*` stands for something other than a list;
 * - if only some of the elements that `*` stands for match;
 * - if the key names the principal, and the call has none;
 * - for `glob`, `prefix` and `regex`, if the value is not a string, or is longer than
 *   {@link MAX_MATCHED_LENGTH}, and for `glob` and `prefix` also if it is ambiguous (see `isAmbiguous`);
 * - for `range`, if it is not a number;
 * - for `from`, `links` and `without`, if the call has no history, or that no longer has what they depend on.
 *
 * Strings are compared as they are. Rules cannot recognise relative paths, other spellings of a host, or
 * links in the file system: it is safer to allow known values than to deny unwanted ones.
 *
 * @throws {SyntaxError} if a glob is invalid: see `compileGlob`.
 * @throws {PatternError} if a regular expression is invalid: see `compilePattern`.
 */
export function compileCondition(key: string, condition: RuleCondition): CallTest {
  const { root, paths } = parseKey(key);
  const test = compileTest(condition);
  const [path = [], ...others] = paths;
  if (root === "input" && others.length === 0) return (call) => test(lookUp(call.input, path), call);
  return (call) => {
    const value = rootValue(call, root);
    return value === undefined
      ? test(UNREACHABLE, call)
      : testElements(value, paths, (found) => test(found, call));
  };
}

type Root = "input" | "principal" | "session";

/** A key of `when`: what its pointer starts from, and the pointer, split at each `*`. */
export interface ConditionKey {
  readonly root: Root;
  readonly paths: readonly (readonly string[])[];
}

/** Parses a key of `when`. */
export function parseKey(key: string): ConditionKey {
  const [root = "", ...rest] = key.split("/");
  const paths: string[][] = [[]];
  for (const step of parsePointer(["", ...rest].join("/"))) {
    if (step === "*") paths.push([]);
    else paths.at(-1)?.push(step === "\\*" ? "*" : step);
  }
  return { root: root === "" ? "input" : (root as Root), paths };
}

function rootValue({ input, principal, sessionId }: MatchedCall, root: Root): JsonValue | undefined {
  if (root === "input") return input;
  return root === "session" ? { id: sessionId } : (principal as JsonValue | undefined);
}

type Found = JsonValue | typeof MISSING | typeof UNREACHABLE;
type ValueTest = (found: Found, call: MatchedCall) => Match;

function testElements(
  value: JsonValue,
  [path = [], ...others]: ConditionKey["paths"],
  test: (found: Found) => Match,
): Match {
  const found = lookUp(value, path);
  if (others.length === 0 || typeof found === "symbol") return test(found);
  if (!Array.isArray(found)) return test(UNREACHABLE);
  if (found.length === 0) return test(MISSING);
  return eachOf(found as readonly JsonValue[], (element) => testElements(element, others, test));
}

function compileTest(condition: RuleCondition): ValueTest {
  if ("not" in condition) {
    const test = compileTest(condition.not);
    return (found, call) => (found === MISSING ? "unclear" : not(test(found, call)));
  }
  if ("all" in condition) {
    const tests = condition.all.map(compileTest);
    return (found, call) => allOf(tests, (test) => test(found, call));
  }
  if ("any" in condition) {
    const tests = condition.any.map(compileTest);
    return (found, call) => anyOf(tests, (test) => test(found, call));
  }
  const test = compileComparison(condition);
  return (found, call) => {
    if (typeof found === "symbol") return found === MISSING ? "no" : "unclear";
    return test(found, call);
  };
}

type Comparison = Exclude<RuleCondition, { not: unknown } | { all: unknown } | { any: unknown }>;

function compileComparison(condition: Comparison): ProvenanceTest {
  if ("equals" in condition) {
    const { equals } = condition;
    return (value) => yesOrNo(equalJson(equals, value));
  }
  if ("oneOf" in condition) {
    const { oneOf } = condition;
    const scalars = new Set<JsonValue>(oneOf.filter((item) => typeof item !== "object"));
    const others = oneOf.filter((item) => typeof item === "object");
    return (value) => yesOrNo(scalars.has(value) || others.some((item) => equalJson(item, value)));
  }
  if ("glob" in condition) {
    const globs = [condition.glob].flat().map(compileGlob);
    return pathTest((text) => globs.some((matches) => matches(text)));
  }
  if ("prefix" in condition) {
    const { prefix } = condition;
    return pathTest((text) => text.startsWith(prefix));
  }
  if ("from" in condition) return compileFrom(condition.from);
  if ("links" in condition) return compileLinks(condition.links.from);
  if ("without" in condition) return compileWithout(condition.without);
  if ("regex" in condition) {
    const pattern = compilePattern(condition.regex);
    return (value) => {
      if (typeof value !== "string" || value.length > MAX_MATCHED_LENGTH) return "unclear";
      return yesOrNo(pattern.test(value));
    };
  }
  const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY } = condition.range;
  return (value) => (typeof value === "number" ? yesOrNo(min <= value && value <= max) : "unclear");
}

function pathTest(matches: (text: string) => boolean): (value: JsonValue) => Match {
  return (value) => (typeof value !== "string" || isAmbiguous(value) ? "unclear" : yesOrNo(matches(value)));
}
