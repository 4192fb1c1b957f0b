import type { JsonValue } from "../../json/value.ts";
import type { SideEffects } from "../../tool/side-effects.ts";
import { ask, deny, type PolicyDecision } from "../decision.ts";
import { compileNamePattern, type NamePattern } from "../match/name-pattern.ts";
import type { PolicySubject } from "../policy.ts";
import { compileCondition, type InputTest, type Match } from "./condition.ts";
import type { AllowedUse, PolicyRule, RuleMatch } from "./rule.ts";

/** Decides which calls a rule matches. */
export class RuleMatcher {
  readonly #patterns: readonly NamePattern[];
  readonly #sideEffects: readonly SideEffects[] | undefined;
  readonly #conditions: readonly InputTest[];

  constructor({ tools, sideEffects, when = {} }: RuleMatch) {
    this.#patterns = tools.map(compileNamePattern);
    this.#sideEffects = sideEffects;
    this.#conditions = Object.entries(when).map(([pointer, condition]) =>
      compileCondition(pointer, condition),
    );
  }

  /** Whether the match depends on the arguments of the call. */
  get isConditional(): boolean {
    return this.#conditions.length > 0;
  }

  /** Whether the rule can match calls of a tool. */
  concerns({ name, sideEffects }: Pick<PolicySubject, "name" | "sideEffects">): boolean {
    return (
      (this.#sideEffects?.includes(sideEffects) ?? true) &&
      this.#patterns.some((pattern) => pattern.matches(name))
    );
  }

  /**
   * Whether the arguments of a call meet all conditions of the rule: `"no"` if they fail one, even if others
   * are unclear.
   */
  match(input: JsonValue): Match {
    let match: Match = "yes";
    for (const holds of this.#conditions) {
      const answer = holds(input);
      if (answer === "no") return "no";
      if (answer === "unclear") match = "unclear";
    }
    return match;
  }
}

/** A rule that denies or asks, with its decisions. */
export interface Restriction {
  readonly matcher: RuleMatcher;
  readonly whenMatched: PolicyDecision;
  readonly whenUnclear: PolicyDecision;
}

/** A rule that allows. */
export interface Permission {
  readonly matcher: RuleMatcher;
  readonly name: string;
  readonly use: AllowedUse;
}

/** Compiles a rule that denies or asks. */
export function compileRestriction(rule: PolicyRule, name: string): Restriction {
  const [decide, verb] = rule.effect === "deny" ? [deny, "denies"] : [ask, "requires confirmation of"];
  return {
    matcher: new RuleMatcher(rule),
    whenMatched: Object.freeze(decide(`'${name}' ${verb} this call`)),
    whenUnclear: Object.freeze(
      decide(`'${name}' ${verb} this call, because it is unclear whether the rule matches`),
    ),
  };
}
