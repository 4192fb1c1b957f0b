import { equalJson } from "../../json/equal.ts";
import type { JsonValue } from "../../json/value.ts";
import { lookUp, MISSING, parsePointer, UNREACHABLE } from "../json-pointer.ts";
import { isAmbiguous } from "../match/ambiguous-text.ts";
import { compileGlob } from "../match/glob.ts";
import type { RuleCondition } from "./rule.ts";

/** Whether something holds; `unclear` when that cannot be told. */
export type Match = "yes" | "no" | "unclear";

/** Tells whether a condition holds of a call's arguments. */
export type InputTest = (input: JsonValue) => Match;

/**
 * Compiles one entry of a rule's `when`.
 *
 * An argument that is missing does not match. It is unclear whether it matches
 * - when the pointer leads through a value that has no such members, as a string, or by name into a list;
 * - for `glob` and `prefix`, when it is no string, or one that could be read in two ways: see `isAmbiguous`;
 * - for `range`, when it is no number.
 *
 * Texts are compared as they are: a relative path, another spelling of a host or a link in the file system is
 * beyond what any rule can see. Allow what is known rather than deny what is feared.
 *
 * @throws {SyntaxError} as `compileGlob`.
 */
export function compileCondition(pointer: string, condition: RuleCondition): InputTest {
  const steps = parsePointer(pointer);
  const test = compileTest(condition);
  return (input) => {
    const found = lookUp(input, steps);
    if (found === MISSING) return "no";
    return found === UNREACHABLE ? "unclear" : test(found);
  };
}

function compileTest(condition: RuleCondition): (value: JsonValue) => Match {
  if ("equals" in condition) {
    const { equals } = condition;
    return (value) => yesOrNo(equalJson(equals, value));
  }
  if ("oneOf" in condition) {
    const { oneOf } = condition;
    return (value) => yesOrNo(oneOf.some((item) => equalJson(item, value)));
  }
  if ("glob" in condition) {
    const globs = [condition.glob].flat().map(compileGlob);
    return textTest((text) => globs.some((matches) => matches(text)));
  }
  if ("prefix" in condition) {
    const { prefix } = condition;
    return textTest((text) => text.startsWith(prefix));
  }
  const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY } = condition.range;
  return (value) => (typeof value === "number" ? yesOrNo(min <= value && value <= max) : "unclear");
}

function textTest(matches: (text: string) => boolean): (value: JsonValue) => Match {
  return (value) => (typeof value !== "string" || isAmbiguous(value) ? "unclear" : yesOrNo(matches(value)));
}

function yesOrNo(holds: boolean): Match {
  return holds ? "yes" : "no";
}
