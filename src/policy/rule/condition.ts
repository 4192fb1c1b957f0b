import { equalJson } from "../../json/equal.ts";
import { lookUp, MISSING, parsePointer, UNREACHABLE } from "../../json/pointer.ts";
import type { JsonValue } from "../../json/value.ts";
import { isAmbiguous } from "../match/ambiguous-text.ts";
import { compileGlob } from "../match/glob.ts";
import type { RuleCondition } from "./rule.ts";

/** Whether a condition or rule matches; `unclear` if that cannot be decided. */
export type Match = "yes" | "no" | "unclear";

/** Decides whether the arguments of a call meet a condition. */
export type InputTest = (input: JsonValue) => Match;

/**
 * Compiles one entry of a rule's `when`.
 *
 * A missing argument does not match. Whether an argument matches is unclear
 * - if the pointer leads through a value that cannot have such a member, for example a string, or a list by
 *   name;
 * - for `glob` and `prefix`, if the argument is not a string, or is ambiguous (see `isAmbiguous`);
 * - for `range`, if it is not a number.
 *
 * Strings are compared as they are. Rules cannot recognise relative paths, other spellings of a host, or
 * links in the file system: it is safer to allow known values than to deny unwanted ones.
 *
 * @throws {SyntaxError} if a glob is invalid: see `compileGlob`.
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
