import { suggest } from "../../base/unknown-names.ts";
import type { ConfigPath } from "../../config/source.ts";
import { escapePointer, parsePointer } from "../../json/pointer.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";
import { overlaps } from "../match/spellings.ts";
import { type PossibleValues, ROOTS, valuesAt, valuesOf, WEB_URL } from "../possible/possible-values.ts";
import { parseKey } from "../rule/conditions/condition.ts";
import { referencesOf, stepsOf, unlessReferring } from "../rule/conditions/value-reference.ts";
import type { PolicyRule, RuleCondition, RuleConditions } from "../rule/rule.ts";
import type { CheckedRule, ConditionProblem, PolicyTool } from "./checked-rule.ts";
import { conjuncts } from "./implied-conditions.ts";
import { didYouMean } from "./name-checks.ts";
import { whyNever } from "./possible-matches.ts";
import { findInSchema } from "./schema-path.ts";
import { textProblems } from "./text-checks.ts";

/** Checks the conditions of a rule against the input schemas of its tools, and what is known of principals and sessions. */
export function conditionProblems(
  { all = [], any = [], ...entries }: RuleConditions = {},
  rule: CheckedRule,
  path: ConfigPath = ["when"],
): readonly ConditionProblem[] {
  const nested = (name: string, each: readonly RuleConditions[]): ConditionProblem[] =>
    each.flatMap((item, index) => [...conditionProblems(item, rule, [...path, name, index])]);
  const own = Object.entries(entries).flatMap(([key, condition]) =>
    [
      ...problemsOf(key, condition, rule),
      ...textProblems(key, condition, rule),
      ...referenceProblems(condition, rule),
    ].map((problem) => ({
      ...problem,
      path: [...path, key, ...(problem.path ?? [])],
    })),
  );
  const found = [...own, ...nested("all", all), ...nested("any", any)];
  const isWhole = path.length === 1;
  return isWhole && found.length === 0 ? contradictions({ all, any, ...entries }, rule, path) : found;
}

/** Finds arguments on which there are several conditions that no value meets all, in parts of `all` and in one of `any`. */
function contradictions(
  when: RuleConditions,
  rule: CheckedRule,
  path: ConfigPath,
  outer: RuleConditions = {},
): readonly ConditionProblem[] {
  const { conditions, choices } = conjuncts({ all: [outer, when] });
  const known = conjuncts(outer).conditions.length;
  const byKey = new Map<string, RuleCondition[]>();
  for (const { key, condition } of conditions) byKey.set(key, [...(byKey.get(key) ?? []), condition]);
  const found = [...byKey].flatMap(([key, all]): readonly ConditionProblem[] => {
    if (all.length < 2 || !conditions.slice(known).some((each) => each.key === key)) return [];
    return problemsOf(key, { all }, rule).map((problem) => ({ ...problem, path, at: "value" }));
  });
  if (found.length > 0 || choices.length !== 1) return found;
  const { any: _, ...others } = when;
  return (when.any ?? []).flatMap((each, index) =>
    contradictions(each, rule, [...path, "any", index], { all: [outer, others] }),
  );
}

type PartProblem = Omit<ConditionProblem, "path"> & { readonly path?: ConfigPath };

function problemsOf(key: string, condition: RuleCondition, rule: CheckedRule): readonly PartProblem[] {
  const { root, paths } = parseKey(key);
  const steps = paths.flatMap((path, index) => (index === 0 ? path : ["*", ...path]));
  if (root !== "input")
    return Object.hasOwn(ROOTS, root) ? rootProblems(root, steps, key, condition, rule) : [];
  const { tools, isNamed } = rule;
  // The schema of the first element stands for those of all.
  const names = steps.map((step) => (step === "*" ? "0" : step));
  const places = tools.map((tool) => {
    const values = argumentsAt(tool, steps);
    const place = findInSchema(tool.inputSchema, names);
    const kind = values.length === 0 ? ("impossible" as const) : place.kind;
    const known = place.kind === "known" ? [] : place.names;
    const never = kind === "impossible" ? undefined : whyNever(tool.inputSchema, values, condition);
    return { tool, kind, never, known, values, schema: place.kind === "known" ? place.schema : undefined };
  });
  // A wildcard may match tools without the argument, or with other values, if it matches one for which it can be met.
  const isPossible = places.some(({ kind }) => kind !== "impossible");
  const canBeMet = places.some(({ kind, never }) => kind !== "impossible" && never === undefined);
  const problems: PartProblem[] = [];
  for (const { tool, kind, never, known, schema } of places) {
    const unfit = schema === undefined ? undefined : unfitType(condition, schema);
    if (unfit !== undefined && isNamed(tool)) {
      problems.push({
        message: `${unfit} in the input of tool '${tool.name}'`,
        severity: "error",
        at: "value",
      });
      continue;
    }
    if (never !== undefined && (isNamed(tool) || !canBeMet)) {
      const message = `${never} (tool '${tool.name}'): ${consequenceFor(rule)}`;
      // Other spellings of a declared argument are compared, too, so that such a rule may be unclear, and apply.
      const isCertain = !isDeclared(tool, steps);
      const severity = isOpen(rule) && isCertain ? "error" : "warning";
      problems.push({ message, severity, at: "value" });
      continue;
    }
    if (kind === "known" || (kind === "open" && known.length === 0)) continue;
    const meant = suggest(steps.at(-1) ?? "", known);
    const hint = meant === undefined ? "" : `: did you mean '${meant}'?`;
    const message = `the input of tool '${tool.name}' has no '${key}'${hint}`;
    if (kind === "impossible" && (isNamed(tool) || !isPossible)) {
      problems.push({ message, severity: "error", at: "key" });
    }
    // A schema that lists members but allows others is unlikely to mean this one: a denial would never match.
    else if (isNamed(tool) ? known.length > 0 : meant !== undefined) {
      problems.push({ message, severity: "warning", at: "key" });
    }
  }
  return [...problems, ...(problems.length === 0 ? deadItems(condition, places) : [])];
}

/** Finds references to what no call has, so that a condition is always unclear. */
function referenceProblems(condition: RuleCondition, rule: CheckedRule): readonly PartProblem[] {
  const never = `this condition is always unclear, and the rule ${rule.effect === "allow" ? "allows nothing" : "always applies"}`;
  return referencesOf(condition).flatMap(({ path, reference }): readonly PartProblem[] => {
    const steps = stepsOf(reference);
    const missing = (of: string, name: string, known: readonly string[]): PartProblem => ({
      path,
      message: `${of} has no '${name}'${didYouMean(steps.at(-1) ?? "", known)}: ${never}`,
      severity: "error",
      at: "value",
    });
    if ("principal" in reference) {
      if (possibleAt(ROOTS.principal, steps).length > 0) return [];
      const members = Object.keys(ROOTS.principal["properties"] as JsonObject);
      return [missing("a principal", reference.principal, steps.length > 1 ? [] : members)];
    }
    const places = rule.tools.map((tool) => ({ tool, place: findInSchema(tool.inputSchema, steps) }));
    const isPossible = places.some(({ place }) => place.kind !== "impossible");
    return places.flatMap(({ tool, place }) =>
      place.kind === "impossible" && (rule.isNamed(tool) || !isPossible)
        ? [missing(`the input of tool '${tool.name}'`, reference.argument, place.names)]
        : [],
    );
  });
}

/** What an argument of a tool can be. */
interface PossibleArgument {
  readonly tool: PolicyTool;
  readonly values: PossibleValues;
}

/** Warns about a condition that must not be met, and that nothing can meet. */
function neverUnmet(condition: RuleCondition, places: readonly PossibleArgument[]): readonly PartProblem[] {
  const whys = places.map(({ tool, values }) =>
    values.length === 0 ? undefined : whyNever(tool.inputSchema, values, condition),
  );
  const [why] = whys;
  if (why === undefined || whys.includes(undefined)) return [];
  const message = `${why}: 'not' holds for every value, and bounds nothing`;
  return [{ path: ["not"], message, severity: "warning", at: "value" }];
}

/** Warns about parts of a condition of which one must be met, and that no tool's argument can meet. */
function deadItems(
  condition: RuleCondition,
  places: readonly PossibleArgument[],
  at: ConfigPath = [],
): readonly PartProblem[] {
  if ("not" in condition)
    return [...neverUnmet(condition.not, places), ...deadItems(condition.not, places, ["not", ...at])];
  const parts = alternatives(condition);
  if (parts === undefined) return [];
  return parts.items.flatMap((item, index): readonly PartProblem[] => {
    const whys = places.map(({ tool, values }) => whyNever(tool.inputSchema, values, item));
    const [why] = whys;
    if (why === undefined || whys.includes(undefined)) return [];
    return [{ path: [...at, parts.member, index], message: why, severity: "warning", at: "value" }];
  });
}

function alternatives(
  written: RuleCondition,
): { readonly member: string; readonly items: readonly RuleCondition[] } | undefined {
  const condition = unlessReferring(written);
  if (condition === undefined) return undefined;
  if ("any" in condition) return { member: "any", items: condition.any };
  if ("oneOf" in condition)
    return { member: "oneOf", items: condition.oneOf.map((item) => ({ equals: item })) };
  if (!("glob" in condition) || typeof condition.glob === "string") return undefined;
  return { member: "glob", items: condition.glob.map((glob) => ({ glob })) };
}

function rootProblems(
  root: "principal" | "session",
  steps: readonly string[],
  key: string,
  condition: RuleCondition,
  rule: CheckedRule,
): readonly PartProblem[] {
  const schema = ROOTS[root];
  const severity = isOpen(rule) ? "error" : "warning";
  const values = possibleAt(schema, steps);
  if (values.length === 0) {
    const members = Object.keys(schema["properties"] as JsonObject);
    const known = members.includes(steps[0] ?? "") ? [] : members;
    const message = `a ${root} has no '${key.slice(root.length + 1)}'${didYouMean(steps[0] ?? "", known)}`;
    const has = known.length === 0 ? "" : `, it has ${known.join(", ")}`;
    const text = message.endsWith("?") ? message : `${message}${has}`;
    return [{ message: `${text}: ${consequenceFor(rule)}`, severity, at: "key" }];
  }
  const never = whyNever(schema, values, condition);
  return never === undefined ? [] : [{ message: `${never}: ${consequenceFor(rule)}`, severity, at: "value" }];
}

/**
 * Finds conditions that no caller meets.
 *
 * @param schema What is known of all callers, such as those that a server authenticates.
 */
export function principalProblems(
  { all = [], any = [], ...entries }: RuleConditions = {},
  effect: PolicyRule["effect"],
  schema: JsonObject,
  path: ConfigPath = ["when"],
): readonly { readonly path: ConfigPath; readonly message: string }[] {
  const nested = (name: string, each: readonly RuleConditions[]) =>
    each.flatMap((item, index) => principalProblems(item, effect, schema, [...path, name, index]));
  const consequence = consequenceFor({ effect });
  const own = Object.entries(entries).flatMap(([key, condition]) => {
    const { root, paths } = parseKey(key);
    if (root !== "principal") return [];
    const values = possibleAt(
      schema,
      paths.flatMap((steps, index) => (index === 0 ? steps : ["*", ...steps])),
    );
    const why =
      values.length === 0
        ? `nothing gives a caller '${key.slice(root.length + 1)}'`
        : whyNever(schema, values, condition);
    return why === undefined
      ? []
      : [{ path: [...path, key], message: `${why}, for all callers of the server: ${consequence}` }];
  });
  return [...own, ...nested("all", all), ...nested("any", any)];
}

/** The keys of conditions on attributes, of which nothing is known: each once, in the order of the policies. */
export function uncheckableKeys(
  policies: readonly { readonly rules: readonly Pick<PolicyRule, "when">[] }[],
): readonly string[] {
  const keysOf = ({ all = [], any = [], ...entries }: RuleConditions = {}): readonly string[] => [
    ...Object.keys(entries).filter((key) => /^principal\/attributes(?:\/|$)/.test(key)),
    ...[...all, ...any].flatMap(keysOf),
  ];
  return [...new Set(policies.flatMap(({ rules }) => rules.flatMap(({ when }) => keysOf(when))))];
}

const found = new WeakMap<JsonObject, Map<string, PossibleValues>>();

/** Many rules are about the same arguments. */
function possibleAt(schema: JsonObject, steps: readonly string[]): PossibleValues {
  const known = found.get(schema) ?? new Map<string, PossibleValues>();
  found.set(schema, known);
  const key = JSON.stringify(steps);
  let values = known.get(key);
  if (values === undefined) {
    values = steps.reduce((each, step) => valuesAt(schema, each, step), valuesOf(schema));
    known.set(key, values);
  }
  return values;
}

function argumentsAt(
  { inputSchema, access: { urls = [] } = {} }: PolicyTool,
  steps: readonly string[],
): PossibleValues {
  const values = possibleAt(inputSchema, steps);
  const isUrl = urls.some(({ argument }) => argument === `/${steps.map(escapePointer).join("/")}`);
  return isUrl ? values.map((schemas) => [...schemas, WEB_URL]) : values;
}

function isOpen({ effect }: CheckedRule): boolean {
  return effect !== "allow";
}

function consequenceFor({ effect }: Pick<CheckedRule, "effect">): string {
  if (effect === "allow") return "this condition is never met, and the rule allows nothing";
  return `this condition is never met, and the rule ${effect === "deny" ? "denies" : "asks about"} nothing`;
}

function isDeclared(
  { access: { paths = [], urls = [] } = {} }: PolicyTool,
  steps: readonly string[],
): boolean {
  return [...paths, ...urls].some(({ argument }) => overlaps(parsePointer(argument), steps));
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
