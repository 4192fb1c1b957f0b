import { parsePointer } from "../../json/pointer.ts";
import { equalJson, isJsonObject, type JsonValue } from "../../json/value.ts";
import { isNeverMatched } from "../possible/possible-texts.ts";
import { accepts, valuesAt, valuesOf } from "../possible/possible-values.ts";
import { compileCondition } from "../rule/conditions/condition.ts";
import type { PolicyRule } from "../rule/rule.ts";
import type { ConditionProblem, PolicyTool } from "./checked-rule.ts";
import { conjuncts } from "./implied-conditions.ts";
import { didYouMean } from "./name-checks.ts";
import { given } from "./possible-matches.ts";
import { delimited } from "./text-checks.ts";

/** Checks what a rule requires besides `when`: roles, arguments that are absent, and earlier calls. */
export function matchProblems(
  rule: PolicyRule,
  tools: readonly PolicyTool[],
  isNamed: (tool: PolicyTool) => boolean,
): readonly ConditionProblem[] {
  return [
    ...roleProblems(rule),
    ...principalPatterns(rule),
    ...askedProblems(rule),
    ...absentProblems(rule, tools, isNamed),
    ...historyProblems(rule),
    ...exampleProblems(rule, tools),
  ];
}

/** `deny` and `ask` rules that never match are open. */
function severityFor({ effect }: PolicyRule): "error" | "warning" {
  return effect === "allow" ? "warning" : "error";
}

function roleProblems(rule: PolicyRule): readonly ConditionProblem[] {
  return (rule.roles ?? []).flatMap((role, index): readonly ConditionProblem[] => {
    if (role !== role.trim())
      return [
        {
          path: ["roles", index],
          message: `roles are compared as they are: write '${role.trim()}' without the white space`,
          severity: severityFor(rule),
          at: "value",
        },
      ];
    if (!/[*?]/.test(role)) return [];
    const message = `roles are compared as they are, and take no patterns: list the roles, such as ['${role.replace(/[*?]+/g, "a")}'], or use 'principals', whose ids take '*'`;
    return [{ path: ["roles", index], message, severity: severityFor(rule), at: "value" }];
  });
}

/** Ids can have any characters, but these are rather meant as patterns of another kind. */
function principalPatterns(rule: PolicyRule): readonly ConditionProblem[] {
  return (rule.principals ?? []).flatMap((pattern, index): readonly ConditionProblem[] => {
    if (pattern !== pattern.trim()) {
      const message = `ids are compared as they are: write '${pattern.trim()}' without the white space`;
      return [{ path: ["principals", index], message, severity: "warning", at: "value" }];
    }
    if (!/\?|^\^|\$$|^\/.*\/[a-z]*$|\.\*|\{.*,.*\}|\(.*\|.*\)|^\[.*\]$/u.test(pattern)) return [];
    const message = `'${pattern}' is compared as it is, except for '*', which stands for any characters: write such patterns, or the ids, one by one`;
    return [{ path: ["principals", index], message, severity: "warning", at: "value" }];
  });
}

function askedProblems(rule: PolicyRule): readonly ConditionProblem[] {
  const { asked } = rule;
  if (asked === undefined) return [];
  if (isNeverMatched(asked, { ignoreCase: true })) {
    const message = "no text at all matches this regular expression: the rule never matches";
    return [{ path: ["asked"], message, severity: severityFor(rule), at: "value" }];
  }
  const message = delimited(asked);
  return message === undefined ? [] : [{ path: ["asked"], message, severity: "warning", at: "value" }];
}

/** A condition that only a value meets, on an argument that must be missing or empty, or on what is in it. */
function absentAndMet(rule: PolicyRule, pointer: string, tools: readonly PolicyTool[]): string | undefined {
  const steps = parsePointer(pointer);
  const possible = EMPTY.filter((value) =>
    tools.some(({ inputSchema: root }) => {
      const values = steps.reduce((each, step) => valuesAt(root, each, step), valuesOf(root));
      return accepts(root, values, value);
    }),
  );
  const { conditions } = conjuncts(rule.when);
  const isNever = conditions.some(({ key, condition }) => {
    const test = compileCondition(key, condition);
    if (key.startsWith(`${pointer}/`))
      return [undefined, ...possible].every((value) => {
        const match = test({ input: inputWith(steps, value), sessionId: "" });
        return match === "no" || (match === "unclear" && rule.effect === "allow");
      });
    return (
      key === pointer &&
      test({ input: {}, sessionId: "" }) === "no" &&
      EMPTY.every((value) => {
        const { yes, unclear } = given(condition, value);
        return !yes && (rule.effect === "allow" || !unclear);
      })
    );
  });
  return isNever ? `the condition on '${pointer}' is only met by a value: the rule never matches` : undefined;
}

const EMPTY: readonly JsonValue[] = [null, "", [], {}];

function inputWith(steps: readonly string[], value: JsonValue | undefined): JsonValue {
  if (value === undefined) return {};
  return steps.reduceRight<JsonValue>((inner, step) => ({ [step]: inner }), value);
}

function absentProblems(
  rule: PolicyRule,
  tools: readonly PolicyTool[],
  isNamed: (tool: PolicyTool) => boolean,
): readonly ConditionProblem[] {
  return (rule.absent ?? []).flatMap((pointer, index): readonly ConditionProblem[] => {
    const path = ["absent", index];
    const steps = parsePointer(pointer);
    const contradiction = absentAndMet(rule, pointer, tools);
    if (contradiction !== undefined)
      return [{ path, message: contradiction, severity: severityFor(rule), at: "value" }];
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

/** A sum that must not be above 0 is met only by amounts of 0; and bounds that no number of calls is within. */
function historyProblems(rule: PolicyRule): readonly ConditionProblem[] {
  const all = rule.history ?? [];
  return all.flatMap((condition, index): readonly ConditionProblem[] => {
    if ("atMost" in condition && condition.atMost === 0) {
      const message = "only calls whose amounts are all 0 meet this: write the greatest sum";
      return [{ path: ["history", index, "atMost"], message, severity: "warning", at: "value" }];
    }
    const { atLeast, moreThan, ...window } = condition as Bounds;
    const low = atLeast ?? moreThan;
    const other = all.find((each) => {
      const { lessThan, atMost, ...otherWindow } = each as Bounds;
      const high = lessThan ?? atMost;
      return (
        low !== undefined &&
        high !== undefined &&
        high <= low &&
        equalJson(window as JsonValue, otherWindow as JsonValue)
      );
    });
    if (other === undefined) return [];
    const message = `condition ${all.indexOf(other)} requires less of the same calls: the rule never matches`;
    return [{ path: ["history", index], message, severity: severityFor(rule), at: "value" }];
  });
}

type Bounds = { readonly [Name in "atLeast" | "moreThan" | "lessThan" | "atMost"]?: number };

/** Examples whose arguments no tool of the rule accepts, so that such a call never comes to the policy. */
function exampleProblems(
  { examples = {} }: PolicyRule,
  tools: readonly PolicyTool[],
): readonly ConditionProblem[] {
  return (["match", "noMatch"] as const).flatMap((kind) =>
    (examples[kind] ?? []).flatMap(({ arguments: input }, index): readonly ConditionProblem[] => {
      if (tools.some(({ inputSchema }) => accepts(inputSchema, valuesOf(inputSchema), input))) return [];
      const path = ["examples", kind, index, "arguments"];
      const message = "no tool of this rule accepts these arguments, so there is no such call";
      return [{ path, message, severity: "warning", at: "value" }];
    }),
  );
}
