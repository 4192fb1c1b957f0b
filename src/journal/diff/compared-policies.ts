import { compareDecisions, type DecisionChange } from "../../policy/compare-decisions.ts";
import { checkDecision, type PolicyDecision } from "../../policy/decision.ts";
import type { RuntimePolicy } from "../../policy/policy.ts";
import type { RulePolicyOptions } from "../../policy/rule/rule.ts";
import { RulePolicy } from "../../policy/rule/rule-policy.ts";
import { strictest } from "../../policy/strictest.ts";
import type { RecordedRequest } from "../read/recorded-calls.ts";

/** The sources of two policies: see `RuntimePolicy.sources`. */
export interface ComparedSources {
  readonly before: readonly string[];
  readonly after: readonly string[];
}

/** How the decisions of two policies on a call differ. */
export interface Comparison {
  /** Nothing if they permit the same. */
  readonly changes: readonly ComparedChange[];
  readonly before: readonly string[];
  readonly after: readonly string[];
}

/** A change, and a text that is the same for equal changes because of the same rules only. */
export interface ComparedChange {
  readonly change: DecisionChange;
  readonly key: string;
}

const SAME: Comparison = Object.freeze({ changes: [], before: [], after: [] });

/** Two policies that decide on the same calls, at the times of their records. */
export class ComparedPolicies {
  /** Whether decisions can depend on the session. */
  readonly dependOnSession: boolean;
  readonly #before: RuntimePolicy;
  readonly #after: RuntimePolicy;
  /** The times at which rules end, in ascending order. */
  readonly #ends: readonly number[];
  /** Policies return the same decisions again. */
  readonly #compared = new WeakMap<PolicyDecision, WeakMap<PolicyDecision, Comparison>>();
  #now = 0;

  constructor({ before, after }: ComparedSources) {
    const all = [...before, ...after].map((source) => JSON.parse(source) as RulePolicyOptions);
    const policies = all.map((options) => new RulePolicy(options, () => this.#now, false));
    this.#before = strictest(...policies.slice(0, before.length));
    this.#after = strictest(...policies.slice(before.length));
    // Every condition on the session has such a key.
    this.dependOnSession = [...before, ...after].some((source) => source.includes('"session/'));
    const ends = all.flatMap(({ rules }) => rules.flatMap(({ until }) => until ?? []));
    this.#ends = [...new Set(ends.map((until) => Date.parse(until)))].sort((a, b) => a - b);
  }

  /** Returns a number that is the same for all times at which the same rules have ended. */
  eraOf(at: number): number {
    let [least, most] = [0, this.#ends.length];
    while (least < most) {
      const middle = (least + most) >> 1;
      if ((this.#ends[middle] as number) <= at) least = middle + 1;
      else most = middle;
    }
    return least;
  }

  /** Has both policies decide on a call that was recorded at a time. */
  compare(request: RecordedRequest, at: number): Comparison {
    this.#now = at;
    // Policies of rules decide synchronously, and return checked decisions.
    const before = checkDecision(this.#before.check(request) as PolicyDecision);
    const after = checkDecision(this.#after.check(request) as PolicyDecision);
    if (before.decision === "deny" && after.decision === "deny") return SAME;
    let others = this.#compared.get(before);
    if (others === undefined) {
      others = new WeakMap();
      this.#compared.set(before, others);
    }
    let comparison = others.get(after);
    if (comparison === undefined) {
      comparison = comparisonOf(before, after);
      others.set(after, comparison);
    }
    return comparison;
  }
}

function comparisonOf(one: PolicyDecision, other: PolicyDecision): Comparison {
  const changes = compareDecisions(one, other);
  if (changes.length === 0) return SAME;
  const [before, after] = [one.rules ?? [], other.rules ?? []];
  return {
    changes: changes.map((change) => ({ change, key: JSON.stringify([change, before, after]) })),
    ...{ before, after },
  };
}
