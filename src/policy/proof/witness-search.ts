import { CanonicalJson } from "../../json/canonical.ts";
import { copyJson } from "../../json/copy.ts";
import { parsePointer } from "../../json/pointer.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";
import { type CompiledSchema, compileSchema } from "../../schema/compiled-schema.ts";
import { SchemaError } from "../../schema/schema-error.ts";
import type { Principal } from "../../tool/principal.ts";
import type { CallHistory } from "../call-history.ts";
import { isOriginTemplate } from "../grant/execution-grant.ts";
import { isFileTemplate } from "../grant/file-template.ts";
import type { PolicyDecision, PolicySubject } from "../policy.ts";
import { globTexts, nameLike, originLike, regexTexts, schemaValues } from "../possible/schema-values.ts";
import { checkPrincipal } from "../principal.ts";
import { compileCondition, parseKey } from "../rule/conditions/condition.ts";
import { unlessReferring } from "../rule/conditions/value-reference.ts";
import type {
  AllowedUse,
  PolicyRule,
  RuleCondition,
  RuleConditions,
  RulePolicyOptions,
} from "../rule/rule.ts";
import { concernedTools, RuleMatcher } from "../rule/rule-matcher.ts";
import { RulePolicy } from "../rule/rule-policy.ts";
import { type DraftCall, put, SOME_SESSION_ID, SOMEONE_ID } from "./calls/call-variables.ts";
import { type Invariant, selectionOf, type Witness } from "./invariant.ts";
import { hasSelected, type MinimalGrant } from "./minimal-grants.ts";

/** Maximum number of calls that are tried for one tool and one grant. */
const MAX_TRIED = 1_000;
/** How many calls are tried in all before fewer are for each further tool and grant: the simplest ones only. */
const MANY_TRIED = 100_000;
const FEW_TRIED = 20;
/** What may be spent on calls in all, in evaluated rules. */
const MAX_WORK = 3_000_000;
/** What making up a call costs besides. */
const WORK_OF_CALL = 50;
/** Maximum number of times at which each call is tried. */
const MAX_TIMES = 8;
const WORKSPACE = "/workspace";

/** In what the calls of a tool are tried. */
interface Setting {
  /** Now, and the times around the ends of rules for the tool. */
  readonly times: readonly number[];
  /** What each call costs. */
  readonly work: number;
}

/** Looks for calls that violate invariants: it makes up calls that a rule should match, and asks the policy about each. */
export class WitnessSearch {
  readonly #options: RulePolicyOptions;
  readonly #schemas = new Map<PolicySubject, CompiledSchema | undefined>();
  readonly #settings = new Map<PolicySubject, Setting>();
  #policy: RulePolicy | undefined;
  #tried = 0;
  #work = 0;

  constructor(options: RulePolicyOptions) {
    this.#options = options;
  }

  /** Returns a call that violates an invariant by what the rules grant, or `undefined` if none was found. */
  find(grant: MinimalGrant, tool: PolicySubject, invariant: Invariant): Witness | undefined {
    const schema = this.#schemaOf(tool);
    if (schema === undefined) return undefined;
    const rules = grant.rules.map(({ place }) => this.#options.rules[place] as PolicyRule);
    const { times, work } = this.#settingOf(tool);
    const end = this.#tried + (this.#tried < MANY_TRIED ? MAX_TRIED : FEW_TRIED);
    for (const sketch of sketchCalls(rules, grant.uses, tool.inputSchema)) {
      this.#work += work;
      if (++this.#tried > end || this.#work > MAX_WORK) return undefined;
      if (schema.validate(sketch.input) !== undefined) continue;
      for (const at of times) {
        const witness = this.#try(sketch, tool, invariant, at);
        if (witness !== undefined) return witness;
      }
    }
    return undefined;
  }

  /** Returns a call that was put together, with other arguments that the tool requires, if it violates an invariant. */
  attempt(
    draft: DraftCall,
    { uses }: MinimalGrant,
    tool: PolicySubject,
    invariant: Invariant,
  ): Witness | undefined {
    const schema = this.#schemaOf(tool);
    for (const base of basesFor(uses, tool.inputSchema)) {
      const { input, principal, sessionId, time, history } = draft.toCall(base);
      if (schema === undefined || schema.validate(input) !== undefined) continue;
      const at = time?.now ?? Date.now();
      const witness = this.#try({ input, principal, sessionId, history }, tool, invariant, at);
      const { assumed } = draft;
      if (witness !== undefined) return assumed.length === 0 ? witness : { ...witness, assumed };
    }
    return undefined;
  }

  #try(sketch: CallSketch, tool: PolicySubject, invariant: Invariant, at: number): Witness | undefined {
    const { sessionId, history } = sketch;
    this.#policy ??= new RulePolicy(this.#options, Date.now, false);
    try {
      const input = copyJson(sketch.input);
      const principal = sketch.principal && checkPrincipal(sketch.principal);
      const time = { now: at };
      const call = {
        callId: "witness",
        sessionId,
        principal,
        input,
        tool,
        workspace: WORKSPACE,
        time,
        history,
      };
      const decision = this.#policy.check(Object.freeze({ ...call, canonical: new CanonicalJson(input) }));
      if (decision.decision === "deny" || !violates(decision, invariant)) return undefined;
      const { when } = selectionOf(invariant);
      if (when !== undefined && new RuleMatcher({ tools: ["*"], when }, Date.now).match(call) !== "yes")
        return undefined;
      return {
        tool: tool.name,
        input,
        ...(principal && { principal }),
        sessionId,
        ...(history && { history }),
        at,
        decision,
      };
    } catch {
      // The input is not valid JSON, or the grants contradict each other for this call: it would be denied.
      return undefined;
    }
  }

  #settingOf(tool: PolicySubject): Setting {
    const known = this.#settings.get(tool);
    if (known !== undefined) return known;
    const rules = this.#options.rules.filter((rule) => concernedTools(rule, [tool]).length > 0);
    const ends = rules.flatMap(({ until }) => (until === undefined ? [] : [Date.parse(until)]));
    const times = [...new Set([Date.now(), ...ends.flatMap((end) => [end, end - 1])])].slice(0, MAX_TIMES);
    const setting = { times, work: WORK_OF_CALL + times.length * rules.length };
    this.#settings.set(tool, setting);
    return setting;
  }

  /** Returns `undefined` if the schema does not compile by itself, such as one that refers to shared schemas. */
  #schemaOf(tool: PolicySubject): CompiledSchema | undefined {
    if (this.#schemas.has(tool)) return this.#schemas.get(tool);
    const schema = compileOrNothing(tool);
    this.#schemas.set(tool, schema);
    return schema;
  }
}

function compileOrNothing({ inputSchema }: PolicySubject): CompiledSchema | undefined {
  try {
    return compileSchema(inputSchema);
  } catch (error) {
    if (error instanceof SchemaError) return undefined;
    throw error;
  }
}

/** Whether a decision on a call of a tool that the invariant is about violates the invariant. */
function violates(decision: PolicyDecision, invariant: Invariant): boolean {
  if (decision.decision === "deny" || decision.grant === undefined) return false;
  if ("always" in invariant && decision.decision === "ask") return false;
  const { sandboxes, capabilities } = selectionOf(invariant);
  const accepted = decision.sandboxes ?? [decision.grant.sandbox];
  if (sandboxes?.some((mode) => accepted.includes(mode)) === false) return false;
  return hasSelected(decision.grant.capabilities, capabilities);
}

const MAX_VALUES = 8;

/** Values that meet many conditions that begin with `not`. */
const OTHERS: readonly JsonValue[] = ["other", "b", "a/b", 0, 1, -1, 1_000_000, true, false];

/** A call that may be a witness. */
export interface CallSketch {
  readonly input: JsonValue;
  readonly principal: Principal | undefined;
  readonly sessionId: string;
  readonly history?: CallHistory | undefined;
}

/** What has to be put into a call so that it meets one condition: one of these values. */
interface Requirement {
  readonly key: string;
  readonly values: readonly JsonValue[];
}

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

/** Returns inputs that a tool most likely accepts, also with arguments of which the capabilities of these grants are made. */
export function basesFor(uses: readonly AllowedUse[], schema: JsonObject): readonly JsonValue[] {
  const bases = schemaValues(schema);
  const templates = uses.flatMap(templateRequirements);
  if (templates.length === 0) return bases;
  return bases.flatMap((base) => [
    templates.reduce(
      (input: JsonValue, { key, values: [value = ""] }) => put(input, parsePointer(key), value),
      base,
    ),
    base,
  ]);
}

export function templateRequirements({
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
    const steps = paths.flatMap((path, index) => (index === 0 ? path : ["*", ...path]));
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
