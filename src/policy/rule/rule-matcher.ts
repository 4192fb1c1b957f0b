import type { SideEffects } from "../../tool/side-effects.ts";
import { compileNamePattern, type NamePattern } from "../match/name-pattern.ts";
import type { PolicySubject } from "../policy.ts";
import { type Clock, compileCallConditions } from "./call-conditions.ts";
import { findRequirement, type Requirement } from "./condition-index.ts";
import { type CallTest, type CompiledCondition, inputsOf, type MatchedCall } from "./conditions/condition.ts";
import type { Match } from "./conditions/match.ts";
import type { RuleMatch } from "./rule.ts";

/** A tool, as far as rules depend on it. */
export type MatchedTool = Pick<PolicySubject, "name" | "sideEffects" | "tags">;

/** A condition that a call does not certainly meet. */
export interface MissedCondition {
  readonly subject: string;
  readonly match: "no" | "unclear";
}

/** Any call of a tool by a principal: it notes whether a condition depends on more than that. */
class CallOfCaller implements MatchedCall {
  readonly principal: MatchedCall["principal"];
  readonly tool: PolicySubject;
  dependsOnMore = false;

  constructor(principal: MatchedCall["principal"], tool: PolicySubject) {
    this.principal = principal;
    this.tool = tool;
  }

  get input(): null {
    this.dependsOnMore = true;
    return null;
  }

  get sessionId(): string {
    this.dependsOnMore = true;
    return "";
  }

  get workspace(): undefined {
    this.dependsOnMore = true;
    return undefined;
  }

  get history(): undefined {
    this.dependsOnMore = true;
    return undefined;
  }

  get paths(): undefined {
    this.dependsOnMore = true;
    return undefined;
  }

  get spelled(): undefined {
    this.dependsOnMore = true;
    return undefined;
  }
}

const NONE: readonly MissedCondition[] = Object.freeze([]);

/** Decides which calls a rule matches. */
export class RuleMatcher {
  readonly #patterns: readonly NamePattern[] | undefined;
  readonly #sideEffects: readonly SideEffects[] | undefined;
  /** The tags of a tool, one of which it must have. */
  readonly tags: readonly string[] | undefined;
  /** The conditions on the call: one call of a tool can meet them, and another one not. */
  readonly #conditions: readonly CompiledCondition[];
  readonly #tests: readonly CallTest[];
  #missed: readonly Readonly<Record<MissedCondition["match"], MissedCondition>>[] | undefined;
  /** What a call must have to match the rule. Default: nothing by which rules can be looked up. */
  readonly requirement: Requirement | undefined;
  /** The steps to the arguments that conditions depend on, with `*` for every element. */
  readonly inputs: readonly (readonly string[])[];

  constructor(rule: RuleMatch, now: Clock) {
    const { tools, tags, sideEffects } = rule;
    this.#patterns = tools?.map(compileNamePattern);
    this.#sideEffects = sideEffects;
    this.tags = tags;
    this.#conditions = compileCallConditions(rule, now);
    this.#tests = this.#conditions.map(({ test }) => test);
    this.requirement = findRequirement(rule);
    this.inputs = rule.when === undefined ? [] : inputsOf(rule.when);
  }

  /** Whether the match depends on the call, and not only on its tool. */
  get isConditional(): boolean {
    return this.#conditions.length > 0;
  }

  /** The names of the tools, unless the rule names them by wildcards, or does not restrict names at all. */
  get toolNames(): readonly string[] | "wildcards" | "all" {
    if (this.#patterns === undefined) return "all";
    const names = this.#patterns.map(({ literal }) => literal);
    return names.every((name) => name !== undefined) ? names : "wildcards";
  }

  /** Whether the rule can match calls of a tool. */
  concerns(tool: MatchedTool): boolean {
    return this.missedBy(tool) === undefined && this.names(tool);
  }

  /** Whether the tool has one of the rule's names. */
  names({ name }: MatchedTool): boolean {
    return this.#patterns?.some((pattern) => pattern.matches(name)) ?? true;
  }

  /** Returns what a tool does not meet besides the names, for operators; `undefined` if it meets all. */
  missedBy({ sideEffects, tags = [] }: MatchedTool): "sideEffects" | "tags" | undefined {
    if (this.#sideEffects?.includes(sideEffects) === false) return "sideEffects";
    return this.tags?.some((tag) => tags.includes(tag)) === false ? "tags" : undefined;
  }

  /** Whether a call of a concerned tool meets all conditions: `"no"` if it fails one, even if some are unclear. */
  match(call: MatchedCall): Match {
    let match: Match = "yes";
    // Written out, as this is the most frequent of all tests.
    for (const test of this.#tests) {
      const answer = test(call);
      if (answer === "no") return "no";
      if (answer === "unclear") match = "unclear";
    }
    return match;
  }

  /**
   * Whether the calls of a tool by a principal meet all conditions, as far as they depend on nothing but the principal and the time:
   * `"depends"` if further conditions remain.
   */
  matchCaller(principal: MatchedCall["principal"], tool: PolicySubject): Match | "depends" {
    const call = new CallOfCaller(principal, tool);
    let match: Match | "depends" = "yes";
    for (const test of this.#tests) {
      call.dependsOnMore = false;
      const answer = test(call);
      if (call.dependsOnMore) match = "depends";
      else if (answer === "no") return "no";
      else if (answer === "unclear" && match === "yes") match = "unclear";
    }
    return match;
  }

  /** Returns which conditions a call does not meet, for operators. */
  missedConditions(call: MatchedCall): readonly string[] {
    return this.examine(call).map(({ subject, match }) => (match === "no" ? subject : `${subject}, unclear`));
  }

  /** Evaluates every condition, and returns those that a call does not certainly meet, always as the same objects. */
  examine(call: MatchedCall): readonly MissedCondition[] {
    this.#missed ??= this.#conditions.map(({ subject }) => ({
      no: { subject, match: "no" },
      unclear: { subject, match: "unclear" },
    }));
    let missed: MissedCondition[] | undefined;
    for (const [index, test] of this.#tests.entries()) {
      const match = test(call);
      const unmet = match === "yes" ? undefined : this.#missed[index]?.[match];
      if (unmet === undefined) continue;
      if (missed === undefined) missed = [unmet];
      else missed.push(unmet);
    }
    return missed ?? NONE;
  }
}
