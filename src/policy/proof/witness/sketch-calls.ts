import { isJsonObject, type JsonObject, type JsonValue } from "../../../json/value.ts";
import type { Principal } from "../../../tool/principal.ts";
import { isOriginTemplate } from "../../grant/execution-grant.ts";
import { isFileTemplate } from "../../grant/file-template.ts";
import { checkPrincipal } from "../../principal.ts";
import { compileCondition, parseKey } from "../../rule/conditions/condition.ts";
import { unlessReferring } from "../../rule/conditions/value-reference.ts";
import type { AllowedUse, PolicyRule, RuleCondition, RuleConditions } from "../../rule/rule.ts";
import { globTexts, nameLike, originLike, regexTexts } from "./matching-texts.ts";
import { schemaValues } from "./schema-values.ts";

const MAX_VALUES = 8;

/** Values that meet many conditions that begin with `not`. */
const OTHERS: readonly JsonValue[] = ["other", "b", "a/b", 0, 1, -1, 1_000_000, true, false];

/** A call that may be a witness. */
export interface CallSketch {
  readonly input: JsonValue;
  readonly principal: Principal | undefined;
  readonly sessionId: string;
}

/** What has to be put into a call so that it meets one condition: one of these values. */
interface Requirement {
  readonly key: string;
  readonly values: readonly JsonValue[];
}

/** The principal and the session of a call to which neither matters. */
export const SOMEONE_ID = "someone";
export const SOME_SESSION_ID = "session";

const MAX_ALTERNATIVES = 16;
const MAX_COMBINATIONS = 128;

/**
 * Makes up calls that rules should match and whose templates can be filled in, the simplest first. Some may not match.
 *
 * @param uses What the rules grant.
 */
export function* sketchCalls(
  rules: readonly PolicyRule[],
  uses: readonly AllowedUse[],
  schema: JsonObject,
): Generator<CallSketch> {
  const templates = uses.flatMap(templateRequirements);
  const bases = schemaValues(schema);
  for (const conditions of alternativesOf(rules)) {
    const requirements = withTemplates(conditions, templates, bases);
    for (const chosen of combinations(requirements)) {
      for (const base of bases) {
        for (const principal of principalsFor(rules)) yield sketch(base, principal, chosen);
      }
    }
  }
}

type Conditions = readonly (readonly [key: string, condition: RuleCondition])[];

/** The choices that `any` leaves, each as conditions that must all be met. */
function alternativesOf(rules: readonly PolicyRule[]): readonly Conditions[] {
  return rules.map(({ when = {} }) => flatten(when)).reduce(product, [[]]);
}

function flatten({ all = [], any, ...entries }: RuleConditions): readonly Conditions[] {
  const own: readonly Conditions[] = [Object.entries(entries)];
  const both = all.map(flatten).reduce(product, own);
  return any === undefined ? both : product(both, any.flatMap(flatten));
}

function product(some: readonly Conditions[], others: readonly Conditions[]): readonly Conditions[] {
  const joined = some.flatMap((one) => others.map((other) => [...one, ...other]));
  return joined.slice(0, MAX_ALTERNATIVES);
}

/** Joins the conditions on one key, and lets the arguments of templates meet those on them. */
function withTemplates(
  conditions: Conditions,
  templates: readonly Requirement[],
  bases: readonly JsonValue[],
): readonly Requirement[] {
  const byKey = new Map<string, RuleCondition[]>();
  for (const [key, condition] of conditions) byKey.set(key, [...(byKey.get(key) ?? []), condition]);
  for (const { key } of templates) if (!byKey.has(key)) byKey.set(key, []);
  return Array.from(byKey, ([key, all]) => {
    const given = templates.filter((template) => template.key === key).flatMap(({ values }) => values);
    if (all.length === 0) return { key, values: given };
    const condition = all.length === 1 ? (all[0] as RuleCondition) : { all };
    return {
      key,
      values: [...given.filter((value) => meets(condition, value)), ...valuesFor(condition, bases)],
    };
  });
}

function templateRequirements({
  capabilities: { fs = [], net = [] } = {},
}: AllowedUse): readonly Requirement[] {
  return [
    ...net.flatMap((grant) =>
      isOriginTemplate(grant)
        ? [{ key: grant.argument, values: grant.within.map((origin) => `${originLike(origin)}/`) }]
        : [],
    ),
    ...fs.flatMap((grant) =>
      isFileTemplate(grant) ? [{ key: grant.file.argument, values: ["a.txt"] }] : [],
    ),
  ];
}

type Chosen = readonly (readonly [key: string, value: JsonValue])[];

function combinations(requirements: readonly Requirement[]): readonly Chosen[] {
  let chosen: readonly Chosen[] = [[]];
  for (const { key, values } of requirements) {
    chosen = values.flatMap((value) => chosen.map((one): Chosen => [...one, [key, value]]));
    chosen = chosen.slice(0, MAX_COMBINATIONS);
  }
  return chosen;
}

const SOMEONE: Principal = { id: SOMEONE_ID, kind: "user" };

/** Without any, rules that depend on the principal are unclear. Someone without roles escapes most of them. */
function principalsFor(rules: readonly PolicyRule[]): readonly (Principal | undefined)[] {
  const roles = rules.flatMap((rule) => rule.roles ?? []);
  const ids = rules.flatMap(({ principals = [] }) => principals.map(nameLike));
  if (roles.length === 0 && ids.length === 0) return [SOMEONE, undefined];
  const known = ids.length === 0 ? [SOMEONE.id] : [...new Set(ids)];
  return known.map((id) => ({ ...SOMEONE, id, ...(roles.length > 0 && { roles }) }));
}

function sketch(base: JsonValue, principal: Principal | undefined, chosen: Chosen): CallSketch {
  let call: JsonValue = {
    input: base,
    principal: (principal as JsonValue | undefined) ?? null,
    session: { id: SOME_SESSION_ID },
  };
  for (const [key, value] of chosen) {
    const { root, paths } = parseKey(key);
    const steps = paths.flatMap((path, index): readonly Step[] => (index === 0 ? path : [ITEM, ...path]));
    call = put(call, [root, ...steps], value);
  }
  const {
    input,
    principal: who,
    session,
  } = call as { input: JsonValue; principal: unknown; session: JsonObject };
  return {
    input,
    principal: principalOf(who),
    sessionId: typeof session["id"] === "string" ? session["id"] : SOME_SESSION_ID,
  };
}

/** The values that conditions require may not be those of a principal. */
function principalOf(who: unknown): Principal | undefined {
  try {
    return checkPrincipal(who as Principal);
  } catch {
    return undefined;
  }
}

/** The only element of a list. */
const ITEM: unique symbol = Symbol("item");
type Step = string | typeof ITEM;

/** Returns a value with another one at a path. Whatever is in the way is replaced. */
function put(value: JsonValue | undefined, [step, ...rest]: readonly Step[], leaf: JsonValue): JsonValue {
  if (step === undefined) return leaf;
  if (step === ITEM) return [put(Array.isArray(value) ? value[0] : undefined, rest, leaf)];
  if (Array.isArray(value) && /^[0-9]$/.test(step)) {
    const items = [...(value as readonly JsonValue[])];
    const place = Math.min(Number(step), items.length);
    return items.toSpliced(place, 1, put(items[place], rest, leaf));
  }
  const members = isJsonObject(value) ? value : {};
  return { ...members, [step]: put(Object.hasOwn(members, step) ? members[step] : undefined, rest, leaf) };
}

/**
 * Returns values that meet a condition, or nothing if none was found.
 *
 * @param inputs Examples of the tool's input, whose values may meet the condition.
 */
function valuesFor(condition: RuleCondition, inputs: readonly JsonValue[]): readonly JsonValue[] {
  const candidates = [...guesses(condition), ...leaves(inputs), ...OTHERS];
  return [...new Set(candidates)].filter((value) => meets(condition, value)).slice(0, MAX_VALUES);
}

/** Whether a value meets a condition for certain. */
function meets(condition: RuleCondition, value: JsonValue): boolean {
  return compileCondition("", condition)({ input: value, sessionId: "" }) === "yes";
}

function guesses(written: RuleCondition): readonly JsonValue[] {
  const condition = unlessReferring(written);
  if (condition === undefined) return [];
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
