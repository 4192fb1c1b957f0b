import { lookUp, MISSING, UNREACHABLE } from "../../../json/pointer.ts";
import type { JsonValue } from "../../../json/value.ts";
import type { MatchedCall } from "../conditions/condition.ts";
import type { RuleMatcher } from "../rule-matcher.ts";

/** Something with the conditions of a rule. */
interface Conditional {
  readonly matcher: RuleMatcher;
}

/** Fewer rules than this are faster to evaluate than to look up. */
const MIN_INDEXED = 16;

/**
 * Finds the rules that a call can match by the values that `equals` and `oneOf` require. Only their conditions need
 * to be evaluated.
 */
export class ConditionIndex<Rule extends Conditional> {
  readonly #rules: readonly Rule[];
  readonly #groups: readonly Group<Rule>[];
  /** The rules that can match whatever values the call has. */
  readonly #others: readonly Placed<Rule>[];

  constructor(rules: readonly Rule[]) {
    this.#rules = rules;
    const groups = new Map<string, Group<Rule>>();
    const others: Placed<Rule>[] = [];
    for (const [place, rule] of rules.entries()) {
      const { requiredValues } = rule.matcher;
      if (requiredValues === undefined) {
        others.push({ rule, place });
        continue;
      }
      const { path, values } = requiredValues;
      const key = JSON.stringify(path);
      const group: Group<Rule> = groups.get(key) ?? { path, all: [], byValue: new Map() };
      groups.set(key, group);
      group.all.push({ rule, place });
      for (const value of new Set(values)) {
        const sharing = group.byValue.get(value);
        if (sharing === undefined) group.byValue.set(value, [{ rule, place }]);
        else sharing.push({ rule, place });
      }
    }
    const isWorthIt = rules.length - others.length >= MIN_INDEXED;
    this.#groups = isWorthIt ? [...groups.values()] : [];
    this.#others = others;
  }

  /** All rules that the call can match, in the order of the policy. Others certainly do not match. */
  candidates({ input }: MatchedCall): readonly Rule[] {
    if (this.#groups.length === 0) return this.#rules;
    const found = [...this.#others];
    for (const { path, all, byValue } of this.#groups) {
      const value = lookUp(input, path);
      if (value === MISSING) continue;
      for (const rule of value === UNREACHABLE ? all : (byValue.get(value) ?? [])) found.push(rule);
    }
    return found.sort((a, b) => a.place - b.place).map(({ rule }) => rule);
  }
}

interface Placed<Rule> {
  readonly rule: Rule;
  /** The index of the rule among all. */
  readonly place: number;
}

/** The rules that require values of the same argument. */
interface Group<Rule> {
  readonly path: readonly string[];
  readonly all: Placed<Rule>[];
  readonly byValue: Map<JsonValue, Placed<Rule>[]>;
}
