import { loadCrypto } from "../base/load-crypto.ts";
import { LIST_INDEX, parsePointer } from "../json/pointer.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json/value.ts";
import type { ToolField } from "./call-history.ts";
import type { LearnedCondition } from "./learned-evidence.ts";
import { type AllowedCall, type Evidence, groupKey, leavesOf, Support } from "./learned-evidence.ts";
import { escapeName } from "./match/name-pattern.ts";
import type { AllowRule, RuleCondition, RuleConditions } from "./rule/rule.ts";

/** A rule has evidence from at least this many sessions. */
const MIN_SESSIONS = 2;

/** A rule, and why it is proposed. */
export interface LearnedRule {
  readonly rule: AllowRule;
  /** The number of calls that it allows among those that were allowed. */
  readonly calls: number;
  readonly sessions: number;
  readonly principals: number;
  /** One of the calls. */
  readonly example: TestedCall;
  /** A call that it allows and nobody has allowed; `undefined` if there is none. */
  readonly witness: TestedCall | undefined;
}

/** A call, with what has to be known of its session: see the cases of `sandgate policy test`. */
export interface TestedCall {
  readonly tool: string;
  readonly arguments: JsonValue;
  /** What the user said. Empty if the rule does not depend on it. */
  readonly userText: string;
  readonly earlier: readonly EarlierResult[];
}

/** A result of an earlier call, from which values came. */
export interface EarlierResult {
  readonly tool: string;
  readonly arguments: JsonValue;
  readonly output: JsonValue;
}

/** The rule of one group of calls, whose calls are counted. */
interface Candidate {
  readonly call: AllowedCall;
  readonly names: readonly string[];
  readonly conditions: ReadonlyMap<string, LearnedCondition>;
  readonly support: Support;
  /** The first call that the rule allows. */
  example: AllowedCall | undefined;
  /** The digests of the arguments of the first calls. */
  readonly seen: Set<string>;
}

/**
 * Maximum number of different calls of a rule that are remembered, to find a witness in what lists of values
 * allow together.
 */
const MAX_SEEN = 1_000;
const MAX_COMBINATIONS = 500;

/** Rules that allow what was allowed. The calls are counted in a second reading: which of them a rule allows is known then. */
export class RuleLearner {
  readonly #candidates = new Map<string, Candidate>();
  readonly #evidence: Evidence;

  constructor(evidence: Evidence) {
    this.#evidence = evidence;
    for (const [key, { call, leaves, names }] of evidence.groups) {
      const learnt = Array.from(leaves, ([leaf, values]) => [leaf, values.learn()] as const);
      const conditions = new Map(learnt.flatMap(([leaf, found]) => (found ? [[leaf, found] as const] : [])));
      if (conditions.size < leaves.size) continue;
      this.#candidates.set(key, {
        call,
        names,
        conditions,
        support: new Support(),
        example: undefined,
        seen: new Set(),
      });
    }
  }

  /** Counts a call that was added to the evidence. Returns whether a rule allows it. */
  count(call: AllowedCall): boolean {
    const leaves = leavesOf(call);
    if (leaves?.some(({ source }) => source === "untrusted")) return false;
    const candidate = leaves && this.#candidates.get(groupKey(call, leaves));
    if (candidate === undefined) return false;
    if (!leaves?.every((leaf) => candidate.conditions.get(leaf.key)?.covers(leaf) === true)) return false;
    candidate.support.add(call);
    candidate.example ??= call;
    if (candidate.seen.size < MAX_SEEN) candidate.seen.add(seenText(call.input, candidate));
    return true;
  }

  /** The rules, those with the most evidence first. */
  rules(): readonly LearnedRule[] {
    const numbers = new Map<string, number>();
    return [...this.#candidates]
      .filter(([, { support }]) => support.sessions >= MIN_SESSIONS)
      .sort(([one, a], [other, b]) => b.support.calls - a.support.calls || (one < other ? -1 : 1))
      .map(([, candidate]) => {
        const { name } = candidate.call.tool;
        const number = (numbers.get(name) ?? 0) + 1;
        numbers.set(name, number);
        return this.#learned(candidate, number === 1 ? `learned: ${name}` : `learned: ${name} ${number}`);
      });
  }

  #learned(candidate: Candidate, name: string): LearnedRule {
    const { call, names, conditions, support, example = call } = candidate;
    const { properties } = call.tool.inputSchema;
    const absent = Object.keys(isJsonObject(properties) ? properties : {})
      .filter((property) => !names.includes(property))
      .map((property) => `/${property.replaceAll("~", "~0").replaceAll("/", "~1")}`);
    const when = Object.fromEntries(Array.from(conditions, ([key, { condition }]) => [key, condition]));
    const rule: AllowRule = {
      name,
      tools: [escapeName(call.tool.name)],
      ...(absent.length > 0 && { absent }),
      ...(conditions.size > 0 && { when: when as RuleConditions }),
      effect: "allow",
      ...call.use,
    };
    const { calls, sessions, principals } = support;
    const other = otherCall(candidate, example.input);
    return {
      rule,
      calls,
      sessions,
      principals,
      example: this.#tested(candidate, example.input),
      witness: other === undefined ? undefined : this.#tested(candidate, other),
    };
  }

  /** Adds what a session has to know so that the values of a call come from where the rule has them come from. */
  #tested({ call, conditions }: Candidate, input: JsonValue): TestedCall {
    const said: string[] = [];
    const outputs = new Map<string, JsonValue[]>();
    for (const { key, value } of leavesOf({ ...call, input }) ?? []) {
      const condition = conditions.get(key);
      if (condition?.isGeneral !== true) continue;
      const [source] = sourcesIn(condition.condition);
      if (source === "user") said.push(String(value));
      else if (source !== undefined) {
        const known = outputs.get(source.tool) ?? [];
        outputs.set(source.tool, [...known, outputWith(parsePointer(source.field), value)]);
      }
    }
    return {
      tool: call.tool.name,
      arguments: input,
      userText: said.join("\n"),
      earlier: [...outputs].flatMap(([tool, all]) =>
        all.map((output) => ({ tool, arguments: this.#evidence.sampleOf(tool) ?? {}, output })),
      ),
    };
  }
}

function sourcesIn(condition: RuleCondition): readonly ("user" | ToolField)[] {
  if ("from" in condition) return condition.from as readonly ("user" | ToolField)[];
  if ("all" in condition) return condition.all.flatMap(sourcesIn);
  return "any" in condition ? condition.any.flatMap(sourcesIn) : [];
}

/** Returns an output that has a value in a field. */
export function outputWith([step, ...others]: readonly string[], value: JsonValue): JsonValue {
  if (step === undefined) return value;
  return step === "*" ? [outputWith(others, value)] : { [step]: outputWith(others, value) };
}

/** Identifies the arguments of a call, whatever they have that counts as absent. */
function seenText(input: JsonValue, { call }: Candidate): string {
  const leaves = (leavesOf({ ...call, input }) ?? []).map(({ key, value }) => [key, value]);
  return loadCrypto().hash("sha256", JSON.stringify(leaves), "base64");
}

/** Makes up arguments that a rule allows and no call had. */
function otherCall(candidate: Candidate, input: JsonValue): JsonValue | undefined {
  const { conditions, seen } = candidate;
  for (const [key, { condition, isGeneral }] of conditions) {
    if (!isGeneral) continue;
    for (const value of othersLike(condition, valueAt(input, parsePointer(key)))) {
      const changed = replaced(input, parsePointer(key), value);
      if (!seen.has(seenText(changed, candidate))) return changed;
    }
  }
  // Lists of values allow every combination of them.
  let combined: readonly JsonValue[] = [input];
  for (const [key, { condition }] of conditions) {
    const values = "oneOf" in condition ? (condition.oneOf as readonly JsonValue[]) : [];
    if (values.length === 0) continue;
    combined = combined
      .flatMap((each) => values.map((value) => replaced(each, parsePointer(key), value)))
      .slice(0, MAX_COMBINATIONS);
  }
  return combined.find((each) => !seen.has(seenText(each, candidate)));
}

/** Values that a condition allows beside one of the evidence. */
function othersLike(condition: RuleCondition, value: JsonValue | undefined): readonly JsonValue[] {
  const parts = "any" in condition ? condition.any : [condition];
  const [general] = parts.map((part) => ("all" in part ? part.all : [part]));
  const all = general ?? [];
  const range = all.flatMap((part) => ("range" in part ? [part.range] : []))[0];
  if (range !== undefined) {
    const { min = 0, max = 0 } = range as { readonly min?: number; readonly max?: number };
    const middle = (min + max) / 2;
    return Number.isInteger(min) && Number.isInteger(max) ? [Math.floor(middle), min + 1] : [middle];
  }
  const prefix = all.flatMap((part) => ("prefix" in part ? [part.prefix] : []))[0] ?? "";
  const hasDomain = all.some((part) => "regex" in part);
  const domain = hasDomain ? String(value).slice(String(value).lastIndexOf("@")) : "";
  return [`${prefix}somebody-else${domain}`, `${prefix}2030-01-01${domain}`];
}

function valueAt(value: JsonValue, [step, ...others]: readonly string[]): JsonValue | undefined {
  if (step === undefined) return value;
  if (Array.isArray(value)) return valueAt((value as readonly JsonValue[])[0] ?? null, others);
  return isJsonObject(value) ? valueAt(value[step === "\\*" ? "*" : step] ?? null, others) : undefined;
}

/** Replaces a value; of a list, the one in its first element. */
export function replaced(value: JsonValue, [step, ...others]: readonly string[], by: JsonValue): JsonValue {
  if (step === undefined) return by;
  if (Array.isArray(value)) {
    const list = value as readonly JsonValue[];
    const index = LIST_INDEX.test(step) ? Number(step) : 0;
    return list.with(index, replaced(list[index] ?? null, others, by));
  }
  const name = step === "\\*" ? "*" : step;
  return { ...(value as JsonObject), [name]: replaced((value as JsonObject)[name] ?? null, others, by) };
}
