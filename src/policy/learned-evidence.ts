import { escapePointer } from "../json/pointer.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json/value.ts";
import {
  type ArgumentSources,
  fieldKey,
  type KnownSource,
  type ToolField,
  type ValueSource,
} from "./call-history.ts";
import type { PolicySubject } from "./policy.ts";
import type { AllowedUse, RuleCondition } from "./rule/rule.ts";

/** A text, number, or Boolean in the arguments of a call. */
export interface ArgumentLeaf {
  /** A key of `when`: `*` stands for every element of a list. */
  readonly key: string;
  readonly value: string | number | boolean;
  /** Default: it is not known. */
  readonly source: KnownSource | undefined;
}

type Value = ArgumentLeaf["value"];

/** So many different values must have a shape in common, or a source, before other values are allowed. */
const MIN_DISTINCT = 3;
/** Maximum number of values of an argument that are remembered, and of those that a rule lists. */
const MAX_REMEMBERED = 500;
const MAX_LISTED = 30;
const MAX_LENGTH = 200;
const MAX_FIELD_LISTS = 100;
const MIN_PREFIX = 4;
/** Where a prefix may end, so that it does not cut a word, number or name. */
const PREFIX_END = /^.*[/:]/su;
const DOMAIN = /@([a-z\d](?:[a-z\d.-]*[a-z\d])?\.[a-z]{2,})$/iu;

/** What a rule allows an argument to be. */
export interface LearnedCondition {
  readonly condition: RuleCondition;
  /** Whether values other than those of the evidence are allowed. */
  readonly isGeneral: boolean;
  covers(leaf: ArgumentLeaf): boolean;
}

/** What the allowed calls of a group have for one argument. */
class ArgumentEvidence {
  /** With the first session of each value, or `true` if it was in several. */
  readonly #values = new Map<Value, string | true>();
  /** The different values of known source. */
  readonly #known = new Set<Value>();
  readonly #knownIn = new Set<string>();
  /** How often a value came from the user, and how often from one of these fields. */
  #fromUser = 0;
  readonly #fieldLists = new Map<string, { readonly fields: readonly ToolField[]; count: number }>();
  #shape: Shape | undefined;

  add({ value, source }: ArgumentLeaf, session: string): void {
    const first = this.#values.get(value);
    if (first !== undefined) {
      if (first !== session) this.#values.set(value, true);
    } else if (this.#values.size < MAX_REMEMBERED && isShort(value)) this.#values.set(value, session);
    if (source === undefined || source === "untrusted" || typeof value === "boolean") return;
    if (source === "user") this.#fromUser++;
    else if (!this.#addFields(source)) return;
    if (this.#known.size < MAX_REMEMBERED && isShort(value)) this.#known.add(value);
    if (this.#knownIn.size < 2) this.#knownIn.add(session);
    this.#shape = this.#shape === undefined ? shapeOf(value) : joined(this.#shape, shapeOf(value));
  }

  /** Returns `undefined` if the evidence allows nothing. */
  learn(): LearnedCondition | undefined {
    const isGeneral = this.#known.size >= MIN_DISTINCT && this.#knownIn.size >= 2;
    const general = isGeneral ? this.#general() : undefined;
    const listed = [...this.#values]
      .filter(([, sessions]) => sessions === true)
      .map(([value]) => value)
      .sort((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1))
      .slice(0, MAX_LISTED);
    const values = new Set(
      general === undefined ? listed : listed.filter((value) => !this.#known.has(value)),
    );
    if (general === undefined) return values.size === 0 ? undefined : exactly(values);
    if (values.size === 0) return general;
    const exact = exactly(values);
    return {
      condition: { any: [general.condition, exact.condition] },
      isGeneral: true,
      covers: (leaf) => general.covers(leaf) || exact.covers(leaf),
    };
  }

  #addFields(fields: readonly ToolField[]): boolean {
    const key = fields.map(fieldKey).join();
    const known = this.#fieldLists.get(key);
    if (known !== undefined) known.count++;
    else if (this.#fieldLists.size < MAX_FIELD_LISTS) this.#fieldLists.set(key, { fields, count: 1 });
    else return false;
    return true;
  }

  #general(): LearnedCondition {
    const fields = coveringFields([...this.#fieldLists.values()]);
    const from: readonly ValueSource[] = [...(this.#fromUser > 0 ? (["user"] as const) : []), ...fields];
    const keys = new Set(fields.map(fieldKey));
    const shape = this.#shape ?? {};
    const conditions: readonly RuleCondition[] = [{ from }, ...conditionsOf(shape)];
    return {
      condition: conditions.length === 1 ? (conditions[0] as RuleCondition) : { all: conditions },
      isGeneral: true,
      covers: ({ value, source }) => {
        if (source === undefined || source === "untrusted" || !hasShape(value, shape)) return false;
        return source === "user" ? this.#fromUser > 0 : source.some((field) => keys.has(fieldKey(field)));
      },
    };
  }
}

function isShort(value: Value): boolean {
  return typeof value !== "string" || value.length <= MAX_LENGTH;
}

function exactly(values: ReadonlySet<Value>): LearnedCondition {
  const [first, ...others] = values;
  return {
    condition: others.length === 0 ? { equals: first as Value } : { oneOf: [...values] },
    isGeneral: false,
    covers: ({ value }) => values.has(value),
  };
}

/** Returns as few fields as possible of which each list has one: those first that most values came from. */
function coveringFields(
  lists: readonly { readonly fields: readonly ToolField[]; readonly count: number }[],
): readonly ToolField[] {
  const chosen: ToolField[] = [];
  let left = lists;
  while (left.length > 0) {
    const counts = new Map<string, { readonly field: ToolField; count: number }>();
    for (const { fields, count } of left) {
      for (const field of fields) {
        const known = counts.get(fieldKey(field));
        if (known === undefined) counts.set(fieldKey(field), { field, count });
        else known.count += count;
      }
    }
    const [best] = [...counts].sort(
      ([one, { count: a }], [other, { count: b }]) => b - a || (one < other ? -1 : 1),
    );
    if (best === undefined) break;
    const [key, { field }] = best;
    chosen.push(field);
    left = left.filter(({ fields }) => fields.every((each) => fieldKey(each) !== key));
  }
  return chosen;
}

/** What values have in common. What is absent, they do not. */
interface Shape {
  readonly range?: { readonly min: number; readonly max: number };
  readonly prefix?: string;
  readonly domain?: string;
}

function shapeOf(value: string | number): Shape {
  if (typeof value === "number") return { range: { min: value, max: value } };
  const domain = DOMAIN.exec(value)?.[1];
  return { prefix: value.slice(0, MAX_LENGTH), ...(domain !== undefined && { domain }) };
}

function joined(one: Shape, other: Shape): Shape {
  const range = one.range &&
    other.range && {
      min: Math.min(one.range.min, other.range.min),
      max: Math.max(one.range.max, other.range.max),
    };
  const prefix =
    one.prefix === undefined || other.prefix === undefined ? "" : commonPrefix(one.prefix, other.prefix);
  return {
    ...(range && { range }),
    ...(prefix !== "" && { prefix }),
    ...(one.domain !== undefined && one.domain === other.domain && { domain: one.domain }),
  };
}

function commonPrefix(one: string, other: string): string {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length++;
  return one.slice(0, length);
}

/** The prefix that a rule requires: it ends at a separator. */
function wholePrefix({ prefix = "" }: Shape): string | undefined {
  const [whole = ""] = PREFIX_END.exec(prefix) ?? [];
  return whole.length >= MIN_PREFIX ? whole : undefined;
}

function conditionsOf(shape: Shape): readonly RuleCondition[] {
  const prefix = wholePrefix(shape);
  const { range, domain } = shape;
  return [
    ...(range === undefined ? [] : [{ range }]),
    ...(prefix === undefined ? [] : [{ prefix }]),
    ...(domain === undefined ? [] : [{ regex: `@${domain.replaceAll(".", "\\.")}$` }]),
  ];
}

function hasShape(value: Value, shape: Shape): boolean {
  const { range, domain } = shape;
  const prefix = wholePrefix(shape);
  if (range !== undefined) return typeof value === "number" && range.min <= value && value <= range.max;
  if (prefix !== undefined && !String(value).startsWith(prefix)) return false;
  return domain === undefined || String(value).endsWith(`@${domain}`);
}

/** What a person or a rule allowed, as far as rules can be learnt from it. */
export interface AllowedCall {
  readonly tool: Pick<PolicySubject, "name" | "sideEffects" | "inputSchema">;
  /** Of the tool's definition. */
  readonly digest: string;
  readonly input: JsonValue;
  /** Default: nothing is known. */
  readonly sources?: ArgumentSources;
  readonly session: string;
  readonly principal: string | undefined;
  /** What rules for such calls grant. */
  readonly use: AllowedUse;
}

/** Why nothing is learnt from a call. */
export type UnusableCause =
  | "destructive"
  | "from an outsider"
  | "too many arguments"
  | "too many kinds of calls";

/** Calls of a tool that have the same arguments, with whatever values, and get the same. */
export interface CallGroup {
  readonly call: AllowedCall;
  /** The names of the arguments that are set. */
  readonly names: readonly string[];
  /** By the keys of the leaves. */
  readonly leaves: ReadonlyMap<string, ArgumentEvidence>;
}

const MAX_GROUPS = 2_000;
const MAX_LEAVES = 64;
/** Beyond, a count is a lower bound. */
const MAX_COUNTED = 10_000;

/** Collects what was allowed, by the kinds of calls. Its memory is bounded, whatever the number of calls. */
export class Evidence {
  readonly #groups = new Map<string, CallGroup>();
  /** The definition of each tool in the last call. */
  readonly #latest = new Map<string, string>();
  /** Arguments with which a tool can be called, by its name. */
  readonly #samples = new Map<string, JsonValue>();

  /** Adds a call, or says why it is unusable. */
  add(call: AllowedCall): UnusableCause | undefined {
    const { tool, digest, session } = call;
    this.#latest.set(tool.name, digest);
    if (!this.#samples.has(tool.name) && this.#samples.size < MAX_GROUPS)
      this.#samples.set(tool.name, call.input);
    const leaves = usableLeaves(call);
    if (typeof leaves === "string") return leaves;
    const group = this.#groupOf(call, leaves);
    if (group === undefined) return "too many kinds of calls";
    for (const leaf of leaves) group.leaves.get(leaf.key)?.add(leaf, session);
    return undefined;
  }

  /** Whether a call was added, and its kind is among those that are remembered. */
  has(call: AllowedCall): boolean {
    const leaves = usableLeaves(call);
    return typeof leaves !== "string" && this.#groups.has(groupKey(call, leaves));
  }

  /** The groups of tools as they were last defined, in a fixed order. */
  get groups(): readonly (readonly [key: string, group: CallGroup])[] {
    return [...this.#groups]
      .filter(([, { call }]) => this.#latest.get(call.tool.name) === call.digest)
      .sort(([one], [other]) => (one < other ? -1 : 1));
  }

  /** Arguments of a call of a tool that was allowed; `undefined` if none was. */
  sampleOf(tool: string): JsonValue | undefined {
    return this.#samples.get(tool);
  }

  #groupOf(call: AllowedCall, leaves: readonly ArgumentLeaf[]): CallGroup | undefined {
    const key = groupKey(call, leaves);
    let group = this.#groups.get(key);
    if (group === undefined && this.#groups.size < MAX_GROUPS) {
      const keys = new Set(leaves.map((leaf) => leaf.key));
      group = {
        call,
        names: namesSet(call.input),
        leaves: new Map(Array.from(keys, (each) => [each, new ArgumentEvidence()])),
      };
      this.#groups.set(key, group);
    }
    return group;
  }
}

function usableLeaves(call: AllowedCall): readonly ArgumentLeaf[] | UnusableCause {
  if (call.tool.sideEffects === "destructive") return "destructive";
  const leaves = leavesOf(call);
  if (leaves === undefined) return "too many arguments";
  return leaves.some(({ source }) => source === "untrusted") ? "from an outsider" : leaves;
}

/** Identifies the group of a call. */
export function groupKey({ tool, digest, use }: AllowedCall, leaves: readonly ArgumentLeaf[]): string {
  const keys = [...new Set(leaves.map(({ key }) => key))].sort();
  return JSON.stringify([tool.name, digest, keys, use]);
}

/** Counts the calls that a rule covers, their sessions and principals. */
export class Support {
  calls = 0;
  readonly #sessions = new Set<string>();
  readonly #principals = new Set<string>();

  add({ session, principal }: AllowedCall): void {
    this.calls++;
    if (this.#sessions.size < MAX_COUNTED) this.#sessions.add(session);
    if (principal !== undefined && this.#principals.size < MAX_COUNTED) this.#principals.add(principal);
  }

  get sessions(): number {
    return this.#sessions.size;
  }

  get principals(): number {
    return this.#principals.size;
  }
}

/** Returns the leaves of a call's arguments that are not empty; `undefined` if there are too many, or no rule can name one. */
export function leavesOf({ input, sources = {} }: AllowedCall): readonly ArgumentLeaf[] | undefined {
  const leaves: ArgumentLeaf[] = [];
  const visit = (value: JsonValue, key: string, pointer: string): boolean => {
    if (isEmpty(value)) return true;
    if (typeof value !== "object" || value === null) {
      const source = Object.hasOwn(sources, pointer) ? sources[pointer] : undefined;
      leaves.push({ key, value: value as string | number | boolean, source });
      return leaves.length <= MAX_LEAVES;
    }
    const isList = Array.isArray(value);
    return Object.entries(value).every(([name, member]) => {
      if (member === undefined) return true;
      const step = escapePointer(name);
      const written = isList ? "*" : name === "*" ? "\\*" : step;
      return visit(member as JsonValue, `${key}/${written}`, `${pointer}/${step}`);
    });
  };
  return isJsonObject(input) && visit(input, "", "") ? leaves : undefined;
}

/** Whether a value is what the member `absent` of a rule takes for absent. */
function isEmpty(value: JsonValue): boolean {
  if (value === null || value === "") return true;
  return typeof value === "object" && Object.keys(value).length === 0;
}

function namesSet(input: JsonValue): readonly string[] {
  return Object.entries(input as JsonObject).flatMap(([name, value]) =>
    value === undefined || isEmpty(value) ? [] : [name],
  );
}
