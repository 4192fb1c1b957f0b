import { parsePointer } from "../../json/pointer.ts";
import { isJsonObject, type JsonValue } from "../../json/value.ts";
import type { PolicyRule } from "../rule/rule.ts";
import type { ConditionProblem } from "./checked-rule.ts";
import { didYouMean } from "./name-checks.ts";
import type { PolicyTool } from "./policy-tool.ts";
import { accepts, valuesAt, valuesOf } from "./possible-values.ts";

/** Checks what a rule requires besides `when`: roles, arguments that are absent, and earlier calls. */
export function matchProblems(
  rule: PolicyRule,
  tools: readonly PolicyTool[],
  isNamed: (tool: PolicyTool) => boolean,
): readonly ConditionProblem[] {
  return [...roleProblems(rule), ...absentProblems(rule, tools, isNamed), ...historyProblems(rule)];
}

/** `deny` and `ask` rules that never match are open. */
function severityFor({ effect }: PolicyRule): "error" | "warning" {
  return effect === "allow" ? "warning" : "error";
}

function roleProblems(rule: PolicyRule): readonly ConditionProblem[] {
  return (rule.roles ?? []).flatMap((role, index): readonly ConditionProblem[] => {
    if (!/[*?]/.test(role)) return [];
    const message = `roles are compared as they are, and take no patterns: list the roles, such as ['${role.replace(/[*?]+/g, "a")}'], or use 'principals', whose ids take '*'`;
    return [{ path: ["roles", index], message, severity: severityFor(rule), at: "value" }];
  });
}

const EMPTY: readonly JsonValue[] = [null, "", [], {}];

function absentProblems(
  rule: PolicyRule,
  tools: readonly PolicyTool[],
  isNamed: (tool: PolicyTool) => boolean,
): readonly ConditionProblem[] {
  return (rule.absent ?? []).flatMap((pointer, index): readonly ConditionProblem[] => {
    const path = ["absent", index];
    const steps = parsePointer(pointer);
    const found = tools.map((tool) => ({ tool, ...presence(tool, steps) }));
    const isEverywhere = (name: "isUnknown" | "isNeverEmpty"): boolean => found.every((each) => each[name]);
    return found.flatMap(({ tool, isUnknown, isNeverEmpty, names }): readonly ConditionProblem[] => {
      if (isUnknown && (isNamed(tool) || isEverywhere("isUnknown"))) {
        const hint = didYouMean(steps.at(-1) ?? "", names);
        const message = `the input of tool '${tool.name}' has no '${pointer}'${hint}`;
        // It is always absent, so that the rule matches more than it should.
        return [{ path, message, severity: rule.effect === "deny" ? "warning" : "error", at: "value" }];
      }
      if (!isNeverEmpty || !(isNamed(tool) || isEverywhere("isNeverEmpty"))) return [];
      const message = `'${pointer}' is required, and never empty in the input of tool '${tool.name}': the rule never matches`;
      return [{ path, message, severity: severityFor(rule), at: "value" }];
    });
  });
}

function presence({ inputSchema }: PolicyTool, steps: readonly string[]) {
  let values = valuesOf(inputSchema);
  let isRequired = true;
  let names: readonly string[] = [];
  for (const step of steps) {
    isRequired &&=
      values.length > 0 &&
      values.every((schemas) =>
        schemas.some(({ required }) => Array.isArray(required) && required.includes(step)),
      );
    names = values.flatMap((schemas) =>
      schemas.flatMap(({ properties }) => (isJsonObject(properties) ? Object.keys(properties) : [])),
    );
    values = valuesAt(inputSchema, values, step);
  }
  const isUnknown = values.length === 0;
  const canBeEmpty = EMPTY.some((value) => accepts(inputSchema, values, value));
  return { isUnknown, isNeverEmpty: !isUnknown && isRequired && !canBeEmpty, names };
}

/** A sum that must not be above 0 is met only by amounts of 0. */
function historyProblems(rule: PolicyRule): readonly ConditionProblem[] {
  return (rule.history ?? []).flatMap((condition, index): readonly ConditionProblem[] => {
    if (!("atMost" in condition) || condition.atMost !== 0) return [];
    const message = "only calls whose amounts are all 0 meet this: write the greatest sum";
    return [{ path: ["history", index, "atMost"], message, severity: "warning", at: "value" }];
  });
}
