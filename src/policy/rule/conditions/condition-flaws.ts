import type { Flaw } from "../../../config/shape.ts";
import { compileGlob } from "../../match/glob.ts";
import type { RuleCondition, RuleConditions } from "../rule.ts";
import type { PatternBudget } from "./pattern-budget.ts";

/** Finds flaws of conditions that their shape does not cover: invalid globs and regular expressions, empty ranges. */
export function conditionFlaws(
  path: readonly string[],
  { all = [], any = [], ...entries }: RuleConditions = {},
  patterns: PatternBudget,
): Flaw[] {
  return [
    ...Object.entries(entries).flatMap(([key, condition]) => flawsOf([...path, key], condition, patterns)),
    ...all.flatMap((nested, index) => conditionFlaws([...path, "all", String(index)], nested, patterns)),
    ...any.flatMap((nested, index) => conditionFlaws([...path, "any", String(index)], nested, patterns)),
  ];
}

function flawsOf(path: readonly string[], condition: RuleCondition, patterns: PatternBudget): Flaw[] {
  if ("not" in condition) return flawsOf([...path, "not"], condition.not, patterns);
  if ("all" in condition) return flawsOfItems([...path, "all"], condition.all, patterns);
  if ("any" in condition) return flawsOfItems([...path, "any"], condition.any, patterns);
  if ("regex" in condition) {
    const message = patterns.flawOf(condition.regex);
    return message === undefined ? [] : [{ path: [...path, "regex"], at: "value", message }];
  }
  if ("range" in condition) {
    const { min, max } = condition.range;
    if (min === undefined || max === undefined || min <= max) return [];
    const message = "the range is empty: min is greater than max";
    return [{ path: [...path, "range"], at: "value", message }];
  }
  if (!("glob" in condition)) return [];
  const { glob } = condition;
  if (typeof glob === "string") return syntaxFlaws([...path, "glob"], () => compileGlob(glob));
  return glob.flatMap((item, index) =>
    syntaxFlaws([...path, "glob", String(index)], () => compileGlob(item)),
  );
}

function flawsOfItems(
  path: readonly string[],
  conditions: readonly RuleCondition[],
  patterns: PatternBudget,
): Flaw[] {
  return conditions.flatMap((condition, index) => flawsOf([...path, String(index)], condition, patterns));
}

function syntaxFlaws(path: readonly string[], compile: () => unknown): Flaw[] {
  try {
    compile();
    return [];
  } catch (error) {
    return [{ path, at: "value", message: (error as Error).message }];
  }
}
