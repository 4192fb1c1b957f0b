import { isJsonObject, type JsonValue } from "../../../json/value.ts";
import { compileCondition } from "../../rule/conditions/condition.ts";
import type { RuleCondition } from "../../rule/rule.ts";
import { globTexts, regexTexts } from "./matching-texts.ts";

const MAX_VALUES = 8;
/** Values that meet many conditions that begin with `not`. */
const OTHERS: readonly JsonValue[] = ["other", "b", "a/b", 0, 1, -1, 1_000_000, true, false];

/**
 * Returns values that meet a condition, or nothing if none was found.
 *
 * @param inputs Examples of the tool's input, whose values may meet the condition.
 */
export function valuesFor(condition: RuleCondition, inputs: readonly JsonValue[]): readonly JsonValue[] {
  const candidates = [...guesses(condition), ...leaves(inputs), ...OTHERS];
  return [...new Set(candidates)].filter((value) => meets(condition, value)).slice(0, MAX_VALUES);
}

/** Whether a value meets a condition for certain. */
export function meets(condition: RuleCondition, value: JsonValue): boolean {
  return compileCondition("", condition)({ input: value, sessionId: "" }) === "yes";
}

function guesses(condition: RuleCondition): readonly JsonValue[] {
  if ("equals" in condition) return [condition.equals];
  if ("oneOf" in condition) return condition.oneOf;
  if ("glob" in condition) return [condition.glob].flat().flatMap(globTexts);
  if ("prefix" in condition) return [`${condition.prefix}a`, condition.prefix];
  if ("regex" in condition) return regexTexts(condition.regex);
  if ("not" in condition) return guesses(condition.not).flatMap(otherThan);
  if ("all" in condition) return condition.all.flatMap(guesses);
  if ("any" in condition) return condition.any.flatMap(guesses);
  if (!("range" in condition)) return [];
  const { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY } = condition.range;
  return [min, max, Math.ceil(min), Math.floor(max), (min + max) / 2, 0].filter(Number.isFinite);
}

/** Values close to one that must not be met. */
function otherThan(value: JsonValue): readonly JsonValue[] {
  if (typeof value === "string") return [`${value}a`, `a${value}`];
  if (typeof value === "number") return [value + 1, value - 1];
  return typeof value === "boolean" ? [!value] : [];
}

/** The texts, numbers and truth values within values. */
function leaves(values: readonly JsonValue[]): readonly JsonValue[] {
  return values.flatMap((value): readonly JsonValue[] => {
    if (Array.isArray(value)) return leaves(value);
    return isJsonObject(value) ? leaves(Object.values(value) as JsonValue[]) : [value];
  });
}
