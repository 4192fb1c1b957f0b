import { escapePointer, lookUp, parsePointer } from "../../json/pointer.ts";
import { isJsonObject, type JsonValue } from "../../json/value.ts";
import type { SandboxMode } from "../../tool/sandbox-mode.ts";
import { escapeName } from "../match/name-pattern.ts";
import type { PolicyDecision, PolicyRequest } from "../policy.ts";
import { unlessReferring } from "../rule/conditions/value-reference.ts";
import {
  type AllowedUse,
  type HistoryCondition,
  type PolicyRule,
  type RuleCondition,
  type RuleConditions,
  type RulePolicyOptions,
  usedBy,
} from "../rule/rule.ts";
import { ruleName } from "../rule/rule-flaws.ts";
import { RulePolicy } from "../rule/rule-policy.ts";

/**
 * Maximum number of characters of arguments that are written whole; of longer ones, only members of up to
 * `MAX_MEMBER_CHARS` are.
 */
const MAX_INPUT_CHARS = 1_000;

const MAX_MEMBER_CHARS = 200;

/** Conditions that a call meets, and no call with other arguments or of another principal. */
interface CallSelector {
  /** By the keys of `when`. */
  readonly values: Readonly<Record<string, JsonValue>>;
  /** The arguments that are too long to be written. The conditions say nothing about them. */
  readonly left: readonly string[];
}

/** A change of one rule of a policy. */
interface RuleEdit {
  /** The index of the rule: that of a new one is the number of rules. */
  readonly index: number;
  readonly rule: PolicyRule;
  /** What the change does, for operators. */
  readonly text: string;
}

/** A policy after some changes. */
export interface EditedPolicy {
  readonly options: RulePolicyOptions;
  readonly edits: readonly RuleEdit[];
}

/** The longest value of an argument that becomes part of a rule. */
const MAX_VALUE_CHARS = 200;

/** Maximum number of rules that are widened. */
const MAX_RULES = 10;

/** What a glob means literally. */
const LITERAL = /^[\w./@:+=, -]+$/;

/** Maximum number of rules whose grant is tried for a call that no rule allows. */
const MAX_GRANTS = 10;
/** The limits of a grant that no rule is a model for. */
const CAUTIOUS_LIMITS = { wallTimeMs: 10_000 } as const;
/** The longest name of a tool in the name of a rule. */
const MAX_NAME_CHARS = 80;
/** How far a quota is raised in the search for the least that is enough. */
const MAX_RAISE = 1_000_000;

/** What edits depend on. */
export interface EditedCall {
  readonly request: PolicyRequest;
  readonly selector: CallSelector | undefined;
  /** Whether a rule that nearly allows the call may be changed to allow further calls, too. */
  readonly widens: boolean;
}

/**
 * Returns the changes that may help against a decision that grants nothing, the most cautious first. Whether they do has to
 * be tried.
 */
export function editsAgainst(
  decision: PolicyDecision,
  options: RulePolicyOptions,
  call: EditedCall,
): readonly RuleEdit[] {
  const named = options.rules.flatMap((rule, index) =>
    decision.rules?.includes(ruleName(rule, index)) === true ? [{ rule, index }] : [],
  );
  const denial = named.find(({ rule }) => rule.effect === "deny");
  if (decision.decision === "deny" && denial !== undefined) return narrowed(denial, call);
  if (decision.decision === "deny" && named.length > 0) return withSandbox(named, call);
  const widened = call.widens ? widenedRules(decision, options, call.request) : [];
  return [...raisedQuotas(options, call), ...widened, ...newRules(decision, options, call)];
}

interface NumberedRule {
  readonly rule: PolicyRule;
  readonly index: number;
}

function narrowed({ rule, index }: NumberedRule, { selector }: EditedCall): readonly RuleEdit[] {
  if (selector === undefined) return [];
  const text = `The rule ${quoted(ruleName(rule, index))} denies the call: except exactly this call from it.`;
  return [{ index, rule: { ...rule, when: exceptCall(rule.when, selector) }, text }];
}

function withSandbox(rules: readonly NumberedRule[], { request }: EditedCall): readonly RuleEdit[] {
  return confinedFirst(request.tool.sandboxes).flatMap((mode) =>
    rules.flatMap(({ rule, index }) => {
      const use = usedBy(rule);
      if (use === undefined || use.sandboxes.includes(mode)) return [];
      const text = `The rule ${quoted(ruleName(rule, index))} accepts no sandbox in which the tool runs: add ${mode}.`;
      return [
        { index, rule: { ...rule, sandboxes: [...use.sandboxes, mode] } as PolicyRule, text },
      ] satisfies readonly RuleEdit[];
    }),
  );
}

function newRules(
  decision: PolicyDecision,
  { rules }: RulePolicyOptions,
  { request, selector }: EditedCall,
): readonly RuleEdit[] {
  if (selector === undefined) return [];
  const { tool } = request;
  const near = decision.decision === "deny" ? (decision.near ?? []).map(({ rule }) => rule) : [];
  const asking = decision.decision === "ask" ? (decision.rules ?? []) : [];
  const models = rules
    .flatMap((rule, index) => {
      const [use, place] = [usedBy(rule), near.indexOf(ruleName(rule, index))];
      return use === undefined || place < 0 ? [] : [{ use, place, name: ruleName(rule, index) }];
    })
    .sort((one, other) => one.place - other.place)
    .slice(0, MAX_GRANTS);
  const add = (use: AllowedUse, from: string): RuleEdit => {
    const { sandboxes, isolation, limits, capabilities } = use;
    const rule: PolicyRule = {
      name: newName(tool.name, rules),
      tools: [escapeName(tool.name)],
      when: conditionsOf(selector),
      effect: "allow",
      sandboxes,
      ...(isolation && { isolation }),
      ...(limits && { limits }),
      ...(capabilities && { capabilities }),
    };
    const why =
      asking.length > 0
        ? `A person is asked because of ${asking.map(quoted).join(", ")}, but no rule grants the call anything`
        : "No rule allows the call";
    return { index: rules.length, rule, text: `${why}: add one for exactly this call, ${from}.` };
  };
  return [
    ...models.map(({ use, name }) => add(use, `with the grant of ${quoted(name)}`)),
    ...confinedFirst(tool.sandboxes).map((mode) =>
      add({ sandboxes: [mode], limits: CAUTIOUS_LIMITS }, "which grants it no files and no network"),
    ),
  ];
}

/** Raises the quotas of rules that only their quota keeps from allowing the call. */
function raisedQuotas({ rules }: RulePolicyOptions, { request }: EditedCall): readonly RuleEdit[] {
  if (request.history === undefined) return [];
  return rules.flatMap((rule, index) => {
    if (rule.effect === "deny" || rule.history === undefined) return [];
    const { history, examples: _, ...others } = rule;
    const isMet = (conditions: readonly HistoryCondition[]): boolean => {
      const alone = new RulePolicy(
        { rules: [{ ...others, history: conditions } as PolicyRule] },
        Date.now,
        false,
      );
      const { decision } = alone.check(request);
      return decision !== "deny";
    };
    const raised = [...history];
    for (const [at, condition] of history.entries()) {
      if (isMet([condition])) continue;
      const enough = leastEnough(condition, (raisedOne) => isMet([raisedOne]));
      if (enough === undefined) return [];
      raised[at] = enough;
    }
    const text = `The rule ${quoted(ruleName(rule, index))} has reached its quota: raise it.`;
    return [{ index, rule: { ...rule, history: raised } as PolicyRule, text }];
  });
}

/** Returns a condition with the lowest bound that is enough; `undefined` if none is, or it has no upper bound. */
function leastEnough(
  condition: HistoryCondition,
  isEnough: (raised: HistoryCondition) => boolean,
): HistoryCondition | undefined {
  const [bound, value] =
    "lessThan" in condition && typeof condition.lessThan === "number"
      ? (["lessThan", condition.lessThan] as const)
      : "atMost" in condition && typeof condition.atMost === "number"
        ? (["atMost", condition.atMost] as const)
        : [undefined, 0];
  if (bound === undefined) return undefined;
  const raised = (by: number): HistoryCondition =>
    ({ ...condition, [bound]: Math.ceil(value) + by }) as HistoryCondition;
  let [least, most] = [0, 1];
  while (!isEnough(raised(most))) {
    least = most;
    most *= 2;
    if (most > MAX_RAISE) return undefined;
  }
  while (most - least > 1) {
    const middle = (least + most) >> 1;
    if (isEnough(raised(middle))) most = middle;
    else least = middle;
  }
  return raised(most);
}

/** The host confines nothing: it is the last resort. */
function confinedFirst(modes: readonly SandboxMode[]): readonly SandboxMode[] {
  return [...modes.filter((mode) => mode !== "host"), ...modes.filter((mode) => mode === "host")];
}

function newName(tool: string, rules: readonly PolicyRule[]): string {
  const names = new Set(rules.map(ruleName));
  const of = tool.length <= MAX_NAME_CHARS ? tool : "a tool";
  for (let number = 1; ; number++) {
    const name = `one call of ${of}${number === 1 ? "" : ` (${number})`}`;
    if (!names.has(name)) return name;
  }
}

function quoted(name: string): string {
  return `'${name}'`;
}

/**
 * Widens each rule that nearly allows a call, the nearest first: the conditions on arguments that the call does not meet
 * accept its values, too. Rules that do not match for another reason are left out.
 */
function widenedRules(
  decision: PolicyDecision,
  { rules }: RulePolicyOptions,
  request: PolicyRequest,
): readonly RuleEdit[] {
  const near = decision.decision === "deny" ? (decision.near ?? []).map(({ rule }) => rule) : [];
  return rules
    .flatMap((rule, index) => {
      const place = near.indexOf(ruleName(rule, index));
      const edit = place < 0 || place >= MAX_RULES ? undefined : widened(rule, index, request);
      return edit === undefined ? [] : [{ place, edit }];
    })
    .sort((one, other) => one.place - other.place)
    .map(({ edit }) => edit);
}

function widened(rule: PolicyRule, index: number, request: PolicyRequest): RuleEdit | undefined {
  const when: Record<string, RuleCondition> = {};
  for (const [key, condition] of Object.entries(rule.when ?? {}) as [string, RuleCondition][]) {
    if (!key.startsWith("/") || key.split("/").includes("*")) continue;
    if (isMet(rule, { [key]: condition }, request)) continue;
    const value = lookUp(request.input, parsePointer(key));
    if (typeof value === "symbol" || JSON.stringify(value).length > MAX_VALUE_CHARS) return undefined;
    when[key] = withValue(condition, value);
  }
  const keys = Object.keys(when);
  if (keys.length === 0) return undefined;
  const text = `The rule '${ruleName(rule, index)}' nearly allows the call: accept its ${keys.join(" and ")}, too.`;
  return { index, rule: { ...rule, when: { ...rule.when, ...when } }, text };
}

/** Whether the call meets one of the conditions of a rule. */
function isMet(
  { name: _, history, examples, ...rule }: PolicyRule,
  when: RuleConditions,
  request: PolicyRequest,
): boolean {
  const alone = new RulePolicy({ rules: [{ ...rule, when } as PolicyRule] }, Date.now, false);
  return alone.check(request).decision !== "deny";
}

/** A condition that a value meets, besides those that met it before. */
function withValue(written: RuleCondition, value: JsonValue): RuleCondition {
  const condition = unlessReferring(written);
  if (condition === undefined) return { any: [written, { equals: value }] };
  if ("equals" in condition) return { oneOf: [condition.equals, value] };
  if ("oneOf" in condition) return { oneOf: [...condition.oneOf, value] };
  if ("glob" in condition && typeof value === "string" && LITERAL.test(value))
    return { glob: [condition.glob, value].flat() };
  if ("range" in condition && typeof value === "number") {
    const { min = value, max = value } = condition.range;
    const range = { ...condition.range };
    return { range: value < min ? { ...range, min: value } : { ...range, max: Math.max(max, value) } };
  }
  return { any: [condition, { equals: value }] };
}

/** Applies a change. A later change of the same rule replaces an earlier one. */
export function withEdit({ options, edits }: EditedPolicy, edit: RuleEdit): EditedPolicy {
  const rules = [...options.rules];
  rules[edit.index] = edit.rule;
  const earlier = edits.find(({ index }) => index === edit.index);
  const text = earlier === undefined ? edit.text : `${earlier.text} ${edit.text}`;
  const others = edits.filter(({ index }) => index !== edit.index);
  return { options: { ...options, rules }, edits: [...others, { ...edit, text }] };
}

/** Returns what singles out a call; `undefined` if its arguments are too long. */
export function selectorOf({ input, principal }: PolicyRequest): CallSelector | undefined {
  const caller = principal === undefined ? {} : { "principal/id": principal.id };
  if (JSON.stringify(input).length <= MAX_INPUT_CHARS) return { values: { "": input, ...caller }, left: [] };
  if (!isJsonObject(input)) return undefined;
  const values: Record<string, JsonValue> = {};
  const left: string[] = [];
  let room = MAX_INPUT_CHARS;
  for (const [name, value = null] of Object.entries(input)) {
    const { length } = JSON.stringify(value);
    const key = `/${escapePointer(name)}`;
    // A `*` would stand for every item.
    if (length > MAX_MEMBER_CHARS || length > room || name === "*") left.push(key);
    else {
      values[key] = value;
      room -= length;
    }
  }
  return Object.keys(values).length === 0 ? undefined : { values: { ...values, ...caller }, left };
}

/** The conditions of a rule for the call. */
function conditionsOf({ values }: CallSelector): RuleConditions {
  return Object.fromEntries(
    Object.entries(values).map(([key, value]) => [key, { equals: value }]),
  ) as RuleConditions;
}

/** Adds to the conditions of a rule that a call differs from this one. */
function exceptCall(when: RuleConditions | undefined, { values }: CallSelector): RuleConditions {
  const others = Object.entries(values).map(
    ([key, value]) => [key, { not: { equals: value } }] as const satisfies readonly [string, RuleCondition],
  );
  const [only, ...more] = others;
  if (only !== undefined && more.length === 0 && when?.[only[0] as ""] === undefined)
    return { ...when, [only[0]]: only[1] } as RuleConditions;
  const any = others.map(([key, condition]) => ({ [key]: condition })) as readonly RuleConditions[];
  if (when?.any === undefined) return { ...when, any };
  return { ...when, all: [...(when.all ?? []), { any }] };
}
