import type { ConfigProblem } from "../../config/problem.ts";
import type { ConfigPath } from "../../config/source.ts";
import { suggest } from "../../config/suggest.ts";
import { isJsonObject, type JsonValue } from "../../json/value.ts";
import { parseKey } from "../rule/conditions/condition.ts";
import type { RuleCondition, RuleConditions } from "../rule/rule.ts";
import type { PolicyTool } from "./policy-tool.ts";
import { findInSchema } from "./schema-path.ts";

/** A problem with a part of a rule. */
export interface ConditionProblem {
  /** The path from the rule. */
  readonly path: ConfigPath;
  readonly message: string;
  readonly severity: ConfigProblem["severity"];
  readonly at: "key" | "value";
}

/**
 * Checks the conditions of a rule against the input schemas of its tools.
 *
 * @param isNamed Whether the rule names a tool, and not only a wildcard or tag that matches it.
 */
export function conditionProblems(
  { all = [], any = [], ...entries }: RuleConditions = {},
  tools: readonly PolicyTool[],
  isNamed: (tool: PolicyTool) => boolean,
  path: ConfigPath = ["when"],
): readonly ConditionProblem[] {
  const nested = (name: string, each: readonly RuleConditions[]): ConditionProblem[] =>
    each.flatMap((item, index) => [...conditionProblems(item, tools, isNamed, [...path, name, index])]);
  const own = Object.entries(entries).flatMap(([key, condition]) =>
    problemsOf(key, condition, tools, isNamed).map((problem) => ({ ...problem, path: [...path, key] })),
  );
  return [...own, ...nested("all", all), ...nested("any", any)];
}

function problemsOf(
  key: string,
  condition: RuleCondition,
  tools: readonly PolicyTool[],
  isNamed: (tool: PolicyTool) => boolean,
): readonly Omit<ConditionProblem, "path">[] {
  const { root, paths } = parseKey(key);
  if (root !== "input") return [];
  // The schema of the first element stands for those of all.
  const steps = paths.flatMap((path, index) => (index === 0 ? path : ["0", ...path]));
  const places = tools.map((tool) => ({ tool, place: findInSchema(tool.inputSchema, steps) }));
  // A wildcard may match tools without the argument if it matches one that has it.
  const isPossible = places.some(({ place }) => place.kind !== "impossible");
  const problems: Omit<ConditionProblem, "path">[] = [];
  for (const { tool, place } of places) {
    if (place.kind === "known") {
      const unfit = unfitType(condition, place.schema);
      const message = `${unfit} in the input of tool '${tool.name}'`;
      if (unfit !== undefined && isNamed(tool)) problems.push({ message, severity: "error", at: "value" });
      continue;
    }
    const meant = suggest(steps.at(-1) ?? "", place.names);
    const hint = meant === undefined ? "" : `: did you mean '${meant}'?`;
    const message = `the input of tool '${tool.name}' has no '${key}'${hint}`;
    if (place.kind === "impossible" && (isNamed(tool) || !isPossible)) {
      problems.push({ message, severity: "error", at: "key" });
    }
    // A schema that lists members but allows others is unlikely to mean this one: a denial would never match.
    else if (isNamed(tool) ? place.names.length > 0 : meant !== undefined) {
      problems.push({ message, severity: "warning", at: "key" });
    }
  }
  return problems;
}

/** Returns why a condition cannot match any value of a schema, or `undefined` if the schema allows its type. */
function unfitType(condition: RuleCondition, schema: JsonValue): string | undefined {
  if ("not" in condition) return unfitType(condition.not, schema);
  const parts = "all" in condition ? condition.all : "any" in condition ? condition.any : undefined;
  if (parts !== undefined) return parts.map((part) => unfitType(part, schema)).find((unfit) => unfit);
  const type = isJsonObject(schema) ? schema["type"] : undefined;
  if (type === undefined) return undefined;
  const types = [type].flat();
  if ("glob" in condition || "prefix" in condition || "regex" in condition) {
    return types.includes("string") ? undefined : "a string is required here, and this argument is never one";
  }
  if (!("range" in condition) || types.includes("number") || types.includes("integer")) return undefined;
  return "a range requires a number, and this argument is never one";
}
