import type { PolicyDecision } from "../decision.ts";
import type { AppliedRule } from "./compiled-rule.ts";

/** The decision for one set of conditional rules that apply. */
export interface CachedDecision {
  /** `undefined` until it is first needed. */
  decision: PolicyDecision | undefined;
  /** The entries for this set with one more rule. */
  readonly next: Map<AppliedRule, CachedDecision>;
  /** The last rule of the set, and the entry for the others; `undefined` for the empty set. */
  readonly last: { readonly rule: AppliedRule; readonly others: CachedDecision } | undefined;
}

/** Maximum number of entries for one tool. Only arguments chosen to fill the cache lead to more. */
const MAX_ENTRIES = 256;

/**
 * The decisions on calls of one tool, by the set of conditional rules that apply. It is a tree with one level for
 * each rule, which costs less than building a text key for each call.
 */
export class DecisionCache {
  #root = createEntry(undefined);
  #count = 0;

  /** The entry for the empty set. */
  get root(): CachedDecision {
    return this.#root;
  }

  /** Returns the entry for the set of `entry` with one more rule. */
  next(entry: CachedDecision, rule: AppliedRule): CachedDecision {
    return entry.next.get(rule) ?? this.#add(entry, rule);
  }

  #add(entry: CachedDecision, rule: AppliedRule): CachedDecision {
    if (++this.#count > MAX_ENTRIES) {
      this.#root = createEntry(undefined);
      this.#count = 0;
    }
    const added = createEntry({ rule, others: entry });
    entry.next.set(rule, added);
    return added;
  }
}

/** Returns the rules of an entry's set, from the first to the last. */
export function rulesOf(entry: CachedDecision): AppliedRule[] {
  const rules: AppliedRule[] = [];
  for (let { last } = entry; last !== undefined; { last } = last.others) rules.push(last.rule);
  return rules.reverse();
}

function createEntry(last: CachedDecision["last"]): CachedDecision {
  return { decision: undefined, next: new Map(), last };
}
