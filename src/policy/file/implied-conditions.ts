import { equalJson, type JsonValue } from "../../json/value.ts";
import { isWithinNamePattern } from "../match/name-pattern.ts";
import { unlessReferring } from "../rule/conditions/value-reference.ts";
import type { PolicyRule, RuleCondition, RuleConditions } from "../rule/rule.ts";
import { given, wantedBy } from "./possible-matches.ts";

/**
 * Whether one rule applies to every call of its tools to which another applies. If this is `false`, it may or may not: only what
 * follows from the conditions themselves is found.
 *
 * @param appliesIfUnclear Whether the broad rule also applies where it is unclear whether it matches.
 */
export function isImplied(
  broad: PolicyRule,
  narrow: PolicyRule,
  appliesIfUnclear: boolean = broad.effect !== "allow",
): boolean {
  if (!hasKeysOf(narrow, broad)) return false;
  return (
    (broad.principals === undefined || arePatternsWithin(narrow.principals, broad.principals)) &&
    (broad.roles === undefined || isSubset(narrow.roles, broad.roles)) &&
    (broad.asked === undefined || broad.asked === narrow.asked) &&
    (broad.until === undefined ||
      (narrow.until !== undefined && Date.parse(narrow.until) <= Date.parse(broad.until))) &&
    (broad.during === undefined || same(broad.during, narrow.during ?? null)) &&
    (broad.absent ?? []).every((pointer) => narrow.absent?.includes(pointer)) &&
    (broad.history ?? []).every((condition) => narrow.history?.some((each) => same(each, condition))) &&
    areImplied(broad.when, narrow.when, appliesIfUnclear)
  );
}

/** Whether a rule has conditions on all that another one has conditions on, which is quick to find. */
function hasKeysOf({ when: narrow }: PolicyRule, { when: broad = {} }: PolicyRule): boolean {
  const { conditions } = conjuncts(narrow);
  return Object.keys(broad).every(
    (key) => key === "all" || key === "any" || conditions.some((each) => each.key === key),
  );
}

function isSubset(some: readonly string[] | undefined, all: readonly string[]): boolean {
  return some?.every((each) => all.includes(each)) ?? false;
}

function arePatternsWithin(narrow: readonly string[] | undefined, broad: readonly string[]): boolean {
  return narrow?.every((pattern) => broad.some((other) => isWithinNamePattern(pattern, other))) ?? false;
}

/** @param appliesIfUnclear Whether the rule with the broad conditions applies where it is unclear whether they are met. */
function areImplied(
  { all = [], any, ...entries }: RuleConditions = {},
  narrow: RuleConditions = {},
  appliesIfUnclear: boolean,
): boolean {
  const known = conjuncts(narrow);
  return (
    Object.entries(entries as { readonly [key: string]: RuleCondition }).every(([key, condition]) =>
      known.conditions.some(
        (each) => each.key === key && implies(each.condition, condition, appliesIfUnclear),
      ),
    ) &&
    all.every((part) => areImplied(part, narrow, appliesIfUnclear)) &&
    (any === undefined ||
      any.some((part) => areImplied(part, narrow, appliesIfUnclear)) ||
      known.choices.some((choices) => same(choices, any)))
  );
}

/** Everything that must be met for conditions to be met. */
interface Conjuncts {
  readonly conditions: readonly { readonly key: string; readonly condition: RuleCondition }[];
  /** The members of each `any`. */
  readonly choices: readonly (readonly RuleConditions[])[];
}

const NONE: Conjuncts = { conditions: [], choices: [] };
const found = new WeakMap<RuleConditions, Conjuncts>();

/** Returns everything that must be met for conditions to be met, without the nesting of `all`. */
export function conjuncts(when?: RuleConditions): Conjuncts {
  if (when === undefined) return NONE;
  const known = found.get(when) ?? flatten(when);
  found.set(when, known);
  return known;
}

function flatten({ all = [], any, ...entries }: RuleConditions): Conjuncts {
  const nested = all.map(conjuncts);
  const own = Object.entries(entries as { readonly [key: string]: RuleCondition });
  return {
    conditions: [
      ...own.map(([key, condition]) => ({ key, condition })),
      ...nested.flatMap(({ conditions }) => conditions),
    ],
    choices: [...(any === undefined ? [] : [any]), ...nested.flatMap(({ choices }) => choices)],
  };
}

/** Whether every value that meets one condition meets another one. */
function implies(one: RuleCondition, other: RuleCondition, orIsUnclear: boolean): boolean {
  if (same(one, other)) return true;
  const [narrow, broad] = [unlessReferring(one), unlessReferring(other)];
  if (narrow === undefined || broad === undefined) return false;
  if ("all" in broad) return broad.all.every((part) => implies(narrow, part, orIsUnclear));
  const wanted = wantedBy(narrow);
  const listed = "equals" in broad ? [broad.equals] : "oneOf" in broad ? broad.oneOf : undefined;
  // Without the conditions being compiled, as many rules only differ in such values.
  if (listed !== undefined && ("equals" in narrow || "oneOf" in narrow))
    return wanted?.every((value) => listed.some((each) => same(each, value))) ?? false;
  if (wanted !== undefined) {
    // Where it is unclear whether it is met, a rule that denies or asks applies, and one that allows bounds what others grant.
    return wanted
      .filter((value) => given(narrow, value).yes || given(narrow, value).unclear)
      .every((value) => {
        const { yes, no, unclear } = given(broad, value);
        return !no && (orIsUnclear || !unclear) && (yes || unclear);
      });
  }
  if ("any" in narrow) return narrow.any.every((part) => implies(part, broad, orIsUnclear));
  if ("all" in narrow && narrow.all.some((part) => implies(part, broad, orIsUnclear))) return true;
  if ("any" in broad) return broad.any.some((part) => implies(narrow, part, orIsUnclear));
  if ("range" in narrow && "range" in broad) return isWithin(narrow.range, broad.range);
  if ("prefix" in narrow && "prefix" in broad) return narrow.prefix.startsWith(broad.prefix);
  if ("glob" in narrow && "glob" in broad) {
    const [globs, others] = [[narrow.glob].flat(), [broad.glob].flat()];
    return globs.every((glob) => others.some((other) => isGlobWithin(glob, other)));
  }
  // What must not be met where the rule applies at all events unless it certainly is.
  return orIsUnclear && "not" in narrow && "not" in broad && implies(broad.not, narrow.not, false);
}

type Range = { readonly min?: number; readonly max?: number };

function isWithin(narrow: Range, broad: Range): boolean {
  const [low, high] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
  return (broad.min ?? low) <= (narrow.min ?? low) && (narrow.max ?? high) <= (broad.max ?? high);
}

function isGlobWithin(glob: string, other: string): boolean {
  if (glob === other || other === "**") return true;
  const folder = /^([^*?[{\\]+\/)\*\*$/.exec(other)?.[1];
  return folder !== undefined && glob.startsWith(folder) && glob !== folder;
}

function same(one: unknown, other: unknown): boolean {
  return equalJson(one as JsonValue, other as JsonValue);
}
