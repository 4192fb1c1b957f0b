import { lookUp, MISSING, UNREACHABLE } from "../../json/pointer.ts";
import { isJsonObject, type JsonValue } from "../../json/value.ts";
import { isAmbiguous } from "../match/ambiguous-text.ts";
import { compileNamePattern } from "../match/name-pattern.ts";
import { canonicalPattern, foldPath, type SpelledInput } from "../match/spellings.ts";
import { spellingOf } from "./conditions/comparison.ts";
import { type MatchedCall, parseKey } from "./conditions/condition.ts";
import { unlessReferring } from "./conditions/value-reference.ts";
import type { RuleCondition, RuleConditions, RuleMatch } from "./rule.ts";

/**
 * What one value of a call must be like so that a rule can match. A call without the value does not match. Whether one
 * matches whose value cannot be reached is unclear.
 */
export interface Requirement {
  readonly root: "input" | "principal";
  /** The steps from the root to the value. */
  readonly path: readonly string[];
  /** The value must be one of `values`, none of which is a list or an object, or a path with one of `prefixes`. */
  readonly kind: "values" | "prefixes";
  readonly values: readonly JsonValue[];
}

/** An entry of a {@link PrefixMap}. */
interface PrefixEntry<Item> {
  readonly prefix: string;
  readonly items: Item[];
  /** The entry with the longest prefix that is a proper prefix of this one. */
  readonly shorter: PrefixEntry<Item> | undefined;
}

/**
 * Finds the items whose prefix a text begins with, in time that grows with the logarithm of the number of prefixes, and
 * with the number of those that are prefixes of each other.
 */
export class PrefixMap<Item> {
  /** Sorted by their prefixes. */
  readonly #entries: readonly PrefixEntry<Item>[];

  constructor(prefixed: Iterable<readonly [prefix: string, item: Item]>) {
    const byPrefix = Map.groupBy(prefixed, ([prefix]) => prefix);
    const entries: PrefixEntry<Item>[] = [];
    // Sorted by UTF-16 code units, as `<` compares: texts with a common prefix stand side by side.
    for (const prefix of [...byPrefix.keys()].sort()) {
      let shorter: PrefixEntry<Item> | undefined = entries.at(-1);
      while (shorter !== undefined && !prefix.startsWith(shorter.prefix)) shorter = shorter.shorter;
      entries.push({ prefix, items: (byPrefix.get(prefix) ?? []).map(([, item]) => item), shorter });
    }
    this.#entries = entries;
  }

  /** Adds the items whose prefix the text begins with to a list. */
  addTo(found: Item[], text: string): void {
    let entry = this.#last(text);
    while (entry !== undefined) {
      if (text.startsWith(entry.prefix)) for (const item of entry.items) found.push(item);
      entry = entry.shorter;
    }
  }

  /** Returns the last entry that does not come after the text. Every prefix of the text is that of it or a shorter one. */
  #last(text: string): PrefixEntry<Item> | undefined {
    let [least, most] = [0, this.#entries.length];
    while (least < most) {
      const middle = (least + most) >> 1;
      if ((this.#entries[middle] as PrefixEntry<Item>).prefix <= text) least = middle + 1;
      else most = middle;
    }
    return this.#entries[least - 1];
  }
}

/** Something with the conditions of a rule. */
interface Conditional {
  readonly matcher: { readonly requirement: Requirement | undefined };
}

/** Fewer rules than this are faster to evaluate than to look up. */
const MIN_INDEXED = 16;

/**
 * Finds the rules that a call can match by the values and prefixes that they require. Only their conditions need to be
 * evaluated.
 */
export class ConditionIndex<Rule extends Conditional> {
  readonly #rules: readonly Rule[];
  readonly #groups: readonly Group<Rule>[];
  /** The rules that can match whatever values the call has. */
  readonly #unindexed: readonly Placed<Rule>[];

  constructor(rules: readonly Rule[]) {
    this.#rules = rules;
    const required = new Map<string, RequiringRules<Rule>>();
    const unindexed: Placed<Rule>[] = [];
    for (const [place, rule] of rules.entries()) {
      const { requirement } = rule.matcher;
      if (requirement === undefined) {
        unindexed.push({ rule, place });
        continue;
      }
      const { root, path, kind, values } = requirement;
      const key = JSON.stringify([root, path, kind]);
      const requiring: RequiringRules<Rule> = required.get(key) ?? { requirement, all: [], byValue: [] };
      required.set(key, requiring);
      requiring.all.push({ rule, place });
      for (const value of new Set(values)) requiring.byValue.push([value, { rule, place }]);
    }
    const isWorthIt = rules.length - unindexed.length >= MIN_INDEXED;
    this.#groups = isWorthIt ? Array.from(required.values(), toGroup) : [];
    this.#unindexed = unindexed;
  }

  /** All rules that the call can match, in the order of the policy. The remaining ones certainly do not match. */
  candidates(call: MatchedCall): readonly Rule[] {
    if (this.#groups.length === 0) return this.#rules;
    const found = [...this.#unindexed];
    for (const group of this.#groups) {
      const { root, path, all } = group;
      const from = call[root] as JsonValue | undefined;
      const value = from === undefined ? UNREACHABLE : lookUp(from, path);
      if (value === MISSING) continue;
      if (value === UNREACHABLE) found.push(...all);
      else {
        group.addTo(found, value);
        if (root === "input" && call.spelled !== undefined)
          addSpelled(group, found, value, call.spelled.inputs);
      }
    }
    // One rule can have several prefixes with which a text begins, and other spellings lead to it again.
    const inOrder = found.sort((a, b) => a.place - b.place);
    return inOrder.filter(({ place }, index) => place !== inOrder[index - 1]?.place).map(({ rule }) => rule);
  }
}

interface Placed<Rule> {
  readonly rule: Rule;
  /** The index of the rule among all. */
  readonly place: number;
}

/** The rules that require the same of one value. */
interface RequiringRules<Rule> {
  readonly requirement: Requirement;
  readonly all: Placed<Rule>[];
  readonly byValue: [value: JsonValue, rule: Placed<Rule>][];
}

interface Group<Rule> extends Pick<Requirement, "root" | "path"> {
  readonly all: readonly Placed<Rule>[];
  /** Adds the rules that a call with a value can match. */
  readonly addTo: AddRules<Rule>;
  /** Adds those that one with another spelling of a path or URL can match, which is folded. */
  readonly addFolded: AddRules<Rule>;
}

type AddRules<Rule> = (found: Placed<Rule>[], value: JsonValue) => void;

function toGroup<Rule>({ requirement, all, byValue }: RequiringRules<Rule>): Group<Rule> {
  const { root, path, kind } = requirement;
  const find = kind === "values" ? findByValue : findByPrefix;
  let addFolded: AddRules<Rule> | undefined;
  return {
    root,
    path,
    all,
    addTo: find(byValue, all),
    addFolded(found, value) {
      addFolded ??= find(
        byValue.map(([text, rule]) => [foldedKey(text, kind), rule]),
        all,
      );
      addFolded(found, value);
    },
  };
}

/** A value or prefix as declared paths and URLs are spelled. */
function foldedKey(text: JsonValue, kind: Requirement["kind"]): JsonValue {
  if (typeof text !== "string") return text;
  return foldPath(kind === "values" ? spellingOf(text) : canonicalPattern(text).replace(/\/$/, ""));
}

function addSpelled<Rule>(
  { path, addFolded }: Group<Rule>,
  found: Placed<Rule>[],
  value: JsonValue,
  spelled: readonly SpelledInput[],
): void {
  for (const { relative, absolute } of spelled) {
    for (const other of new Set([lookUp(relative, path), lookUp(absolute, path)])) {
      if (typeof other === "string" && typeof value === "string") addFolded(found, foldPath(other));
    }
  }
}

function findByValue<Rule>(byValue: RequiringRules<Rule>["byValue"]): AddRules<Rule> {
  const rules = Map.groupBy(byValue, ([value]) => value);
  return (found, value) => {
    for (const [, rule] of rules.get(value) ?? []) found.push(rule);
  };
}

function findByPrefix<Rule>(
  byValue: RequiringRules<Rule>["byValue"],
  all: RequiringRules<Rule>["all"],
): AddRules<Rule> {
  const rules = new PrefixMap(byValue as [prefix: string, rule: Placed<Rule>][]);
  return (found, value) => {
    // Whether such a value matches a glob or a prefix is unclear.
    if (typeof value !== "string" || isAmbiguous(value)) for (const rule of all) found.push(rule);
    else rules.addTo(found, value);
  };
}

/** Finds what a rule requires of a call, by which rules can be looked up. An exact value is preferred. */
export function findRequirement({ principals, when = {} }: RuleMatch): Requirement | undefined {
  const found = [...requirementsOf(when), ...principalRequirements(principals)];
  return found.find(({ kind }) => kind === "values") ?? found[0];
}

function requirementsOf({ all = [], any, ...entries }: RuleConditions): readonly Requirement[] {
  const own = Object.entries(entries as { readonly [key: string]: RuleCondition }).flatMap(
    ([key, condition]) => {
      const { root, paths } = parseKey(key);
      const [path = [], ...others] = paths;
      const required = requiredBy(condition);
      if (required === undefined || root === "session" || others.length > 0) return [];
      return [{ root, path, ...required }];
    },
  );
  return [...own, ...all.flatMap(requirementsOf)];
}

function requiredBy(written: RuleCondition): Pick<Requirement, "kind" | "values"> | undefined {
  // Whatever the value is, it is unclear whether it matches if a reference is unset.
  const condition = unlessReferring(written);
  if (condition === undefined) return undefined;
  if ("equals" in condition) return exact([condition.equals]);
  if ("oneOf" in condition) return exact(condition.oneOf);
  if ("prefix" in condition) return prefixes([condition.prefix]);
  if ("glob" in condition) return prefixes([condition.glob].flat().map(literalPrefix));
  return undefined;
}

function exact(values: readonly JsonValue[]): Pick<Requirement, "kind" | "values"> | undefined {
  if (values.some((value) => Array.isArray(value) || isJsonObject(value))) return undefined;
  return { kind: "values", values };
}

function prefixes(values: readonly string[]): Pick<Requirement, "kind" | "values"> | undefined {
  return values.includes("") ? undefined : { kind: "prefixes", values };
}

/** Returns a text with which every path begins that a glob matches. */
function literalPrefix(glob: string): string {
  // `src/**` matches `src`, too, and a slash at the end is ignored.
  return glob.replace(/[*?[{].*$/s, "").replace(/\/$/, "");
}

function principalRequirements(principals: readonly string[] | undefined): readonly Requirement[] {
  const ids = principals?.map((pattern) => compileNamePattern(pattern).literal);
  if (ids === undefined || !ids.every((id) => id !== undefined)) return [];
  return [{ root: "principal", path: ["id"], kind: "values", values: ids }];
}
