import type { Flaw } from "../../../config/shape.ts";
import { compilePattern, type PatternOptions } from "../../../patterns/pattern.ts";
import { PatternError } from "../../../patterns/pattern-syntax.ts";
import { compileGlob } from "../../match/glob.ts";
import type { RuleCondition, RuleConditions } from "../rule.ts";

/** The most that the patterns of a policy can have together, in characters with repetitions expanded: about 200 MB. */
const MAX_TOTAL_SIZE = 500_000;

/** What each pattern takes besides, in characters. */
const SIZE_OF_PATTERN = 8;

/** Compiles the patterns of one policy while it is checked, as long as they are not too large together. */
export class PatternBudget {
  readonly #known = new Set<string>();
  #size = 0;

  /**
   * Returns what is wrong with a pattern, for operators; `undefined` if it is valid. That the patterns are too large
   * together is said of the first one that is too many.
   */
  flawOf(source: string, options: PatternOptions = {}): string | undefined {
    const key = `${options.ignoreCase === true} ${source}`;
    if (this.#known.has(key) || this.#size > MAX_TOTAL_SIZE) return undefined;
    try {
      this.#size += SIZE_OF_PATTERN + compilePattern(source, options).size;
      this.#known.add(key);
    } catch (error) {
      if (error instanceof PatternError) return error.message;
      throw error;
    }
    if (this.#size <= MAX_TOTAL_SIZE) return undefined;
    return `the patterns of the policy are larger than ${MAX_TOTAL_SIZE} characters together, with their repetitions expanded`;
  }
}

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
