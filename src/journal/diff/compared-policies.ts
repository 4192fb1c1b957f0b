import type { JsonValue } from "../../json/value.ts";
import { type CedarData, isCedarData } from "../../policy/cedar/cedar-library.ts";
import type { CedarPolicy } from "../../policy/cedar/cedar-policy.ts";
import { type CedarVariants, openCedarVariants } from "../../policy/cedar/open-cedar-data.ts";
import { compareDecisions, type DecisionChange } from "../../policy/compare-decisions.ts";
import {
  checkDecision,
  deny,
  type PolicyDecision,
  type PolicySubject,
  type RuntimePolicy,
} from "../../policy/policy.ts";
import { compileWindow } from "../../policy/rule/conditions/time-window.ts";
import type { RulePolicyOptions, TimeWindow } from "../../policy/rule/rule.ts";
import { RulePolicy } from "../../policy/rule/rule-policy.ts";
import { strictest } from "../../policy/strictest.ts";
import type { RecordedRequest } from "../read/recorded-calls.ts";

const UNDECIDED = deny("the policies are invalid for the tool as it was recorded");

/**
 * A policy in Cedar that decides on recorded calls. Its schema has each tool as it was recorded, since those of today can
 * have other arguments.
 */
class RecordedCedarPolicy implements RuntimePolicy {
  readonly #variants: CedarVariants;
  /** `undefined` if Cedar does not accept the policies for the tool as it was recorded. */
  readonly #policies = new Map<PolicySubject, CedarPolicy | undefined>();

  private constructor(variants: CedarVariants) {
    this.#variants = variants;
  }

  /** @throws {Error} if `@cedar-policy/cedar-wasm` is not installed. */
  static async open(data: CedarData): Promise<RecordedCedarPolicy> {
    return new RecordedCedarPolicy(await openCedarVariants(data));
  }

  get readsSession(): boolean {
    return this.#variants.base.readsSession;
  }

  check(request: RecordedRequest): PolicyDecision {
    const { tool } = request;
    if (!this.#policies.has(tool)) this.#policies.set(tool, this.#variants.openFor(tool));
    const policy = this.#policies.get(tool);
    if (policy !== undefined) return policy.check(request);
    request.missing ??= "tool changed";
    return UNDECIDED;
  }
}

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
  /** What each of them decided, if their decisions differ. */
  readonly decisions?: readonly [before: PolicyDecision["decision"], after: PolicyDecision["decision"]];
}

/** A change, and a text that is the same for equal changes because of the same rules only. */
export interface ComparedChange {
  readonly change: DecisionChange;
  readonly key: string;
}

const SAME: Comparison = Object.freeze({ changes: [], before: [], after: [] });

/** The time at which policies decide, in milliseconds since the epoch. */
interface Clock {
  now: number;
}

interface OpenedPolicy {
  readonly policy: RuntimePolicy;
  readonly dependsOnSession: boolean;
  /** The times at which rules end. */
  readonly ends: readonly number[];
  /** When rules match. */
  readonly windows: readonly TimeWindow[];
}

async function openSource(source: string, clock: Clock): Promise<OpenedPolicy> {
  const options = JSON.parse(source) as JsonValue;
  if (isCedarData(options)) {
    const policy = await RecordedCedarPolicy.open(options as unknown as CedarData);
    return { policy: policy as RuntimePolicy, dependsOnSession: policy.readsSession, ends: [], windows: [] };
  }
  const rules = options as unknown as RulePolicyOptions;
  return {
    policy: new RulePolicy(rules, () => clock.now, false),
    // Every condition on the session has such a key.
    dependsOnSession: source.includes('"session/'),
    ends: rules.rules.flatMap(({ until }) => until ?? []).map((until) => Date.parse(until)),
    windows: rules.rules.flatMap(({ during }) => during ?? []),
  };
}

/** Two policies that decide on the same calls, at the times of their records. */
export class ComparedPolicies {
  /** Whether decisions can depend on the session. */
  readonly dependOnSession: boolean;
  readonly #before: RuntimePolicy;
  readonly #after: RuntimePolicy;
  /** The times at which rules end, in ascending order. */
  readonly #ends: readonly number[];
  readonly #windows: readonly ((at: number) => boolean)[];
  /** Policies return the same decisions again. */
  readonly #compared = new WeakMap<PolicyDecision, WeakMap<PolicyDecision, Comparison>>();
  readonly #clock: Clock;

  private constructor(before: readonly OpenedPolicy[], after: readonly OpenedPolicy[], clock: Clock) {
    this.#clock = clock;
    this.#before = strictest(...before.map(({ policy }) => policy));
    this.#after = strictest(...after.map(({ policy }) => policy));
    const all = [...before, ...after];
    this.dependOnSession = all.some(({ dependsOnSession }) => dependsOnSession);
    const windows = all
      .flatMap((each) => each.windows)
      .map((window) => [JSON.stringify(window), window] as const);
    this.#windows = Array.from(new Map(windows).values(), compileWindow);
    this.#ends = [...new Set(all.flatMap(({ ends }) => ends))].sort((a, b) => a - b);
  }

  /** @throws {Error} if a policy is in Cedar, and `@cedar-policy/cedar-wasm` is not installed. */
  static async open({ before, after }: ComparedSources): Promise<ComparedPolicies> {
    const clock: Clock = { now: 0 };
    const open = (sources: readonly string[]): Promise<readonly OpenedPolicy[]> =>
      Promise.all(sources.map((source) => openSource(source, clock)));
    return new ComparedPolicies(await open(before), await open(after), clock);
  }

  /** Returns a text that is the same for all times at which rules depend on the time in the same way. */
  eraOf(at: number): string {
    const within = this.#windows.map((isIn) => (isIn(at) ? "1" : "0")).join("");
    return `${this.#ended(at)}/${within}`;
  }

  /** The number of times before this one at which rules end. */
  #ended(at: number): number {
    let [least, most] = [0, this.#ends.length];
    while (least < most) {
      const middle = (least + most) >> 1;
      if ((this.#ends[middle] as number) <= at) least = middle + 1;
      else most = middle;
    }
    return least;
  }

  /** Decides by both policies on a call that was recorded at a time. */
  compare(request: RecordedRequest, at: number): Comparison {
    this.#clock.now = at;
    // Policies of rules and in Cedar decide synchronously, and return checked decisions.
    const before = checkDecision(this.#before.check(request) as PolicyDecision);
    const after = checkDecision(this.#after.check(request) as PolicyDecision);
    if (before.decision === "deny" && after.decision === "deny") return SAME;
    let byAfter = this.#compared.get(before);
    if (byAfter === undefined) {
      byAfter = new WeakMap();
      this.#compared.set(before, byAfter);
    }
    let comparison = byAfter.get(after);
    if (comparison === undefined) {
      comparison = comparisonOf(before, after);
      byAfter.set(after, comparison);
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
    before,
    after,
    decisions: [one.decision, other.decision],
  };
}
