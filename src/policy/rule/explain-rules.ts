import type { PolicyDecision } from "../decision.ts";
import { type ExplainedRule, type GrantOrigins, NO_ORIGINS } from "../explanation.ts";
import { CAPABILITY_NAMES, type CapabilityName } from "../grant/capabilities.ts";
import { LIMIT_NAMES } from "../grant/limits.ts";
import type { AppliedRule, CompiledRule } from "./compiled-rule.ts";
import type { MatchedCall } from "./conditions/condition.ts";
import type { MatchedTool, MissedCondition } from "./rule-matcher.ts";

/** Explains whether a rule that names a tool matches calls of it. */
export class RuleExplainer {
  readonly rule: CompiledRule;
  /** The same for all calls. */
  readonly #ofTool: ExplainedRule | undefined;
  readonly #whenMatched: ExplainedRule;
  /** What was explained before, for calls that miss a single condition: most calls miss that of most rules. */
  readonly #whenMissed = new Map<MissedCondition, ExplainedRule>();

  constructor(rule: CompiledRule, tool: MatchedTool) {
    this.rule = rule;
    const missed = rule.matcher.missedBy(tool);
    if (missed !== undefined)
      this.#ofTool = this.#explained("no", `the tool has none of the rule's ${missed}`);
    this.#whenMatched = this.#explained(
      "yes",
      rule.matcher.isConditional ? "every condition is met" : "every call of the tool matches",
    );
  }

  explain(call: MatchedCall): ExplainedRule {
    if (this.#ofTool !== undefined) return this.#ofTool;
    const missed = this.rule.matcher.examine(call);
    const [first] = missed;
    if (first === undefined) return this.#whenMatched;
    if (missed.length > 1) return this.#explainMissed(missed);
    let explained = this.#whenMissed.get(first);
    if (explained === undefined) {
      explained = this.#explainMissed(missed);
      this.#whenMissed.set(first, explained);
    }
    return explained;
  }

  #explainMissed(missed: readonly MissedCondition[]): ExplainedRule {
    const notMet = subjectsOf(missed, "no");
    const unclear = subjectsOf(missed, "unclear");
    if (notMet === "") return this.#explained("unclear", `unclear: ${unclear}`);
    return this.#explained("no", `not met: ${notMet}${unclear === "" ? "" : `; unclear: ${unclear}`}`);
  }

  #explained(matched: ExplainedRule["matched"], why: string): ExplainedRule {
    const { name, effect } = this.rule;
    return Object.freeze({ name, effect, matched, why });
  }
}

function subjectsOf(missed: readonly MissedCondition[], match: MissedCondition["match"]): string {
  let subjects = "";
  for (const each of missed) {
    if (each.match === match) subjects += subjects === "" ? each.subject : `, ${each.subject}`;
  }
  return subjects;
}

/**
 * Finds the rules from which the parts of a decision's grant come.
 *
 * @param granting The rules that took part in the grant, in the order of the policy.
 */
export function originsOf(decision: PolicyDecision, granting: readonly AppliedRule[]): GrantOrigins {
  const [first] = granting;
  if (decision.decision === "deny" || decision.grant === undefined || first === undefined) return NO_ORIGINS;
  const { limits, capabilities } = decision.grant;
  const limitOrigins = LIMIT_NAMES.flatMap((name) => {
    if (limits[name] === undefined) return [];
    const origin = granting.find(({ use }) => use?.limits?.[name] === limits[name]);
    return origin === undefined ? [] : [[name, origin.name] as const];
  });
  const has = ({ use }: AppliedRule, name: CapabilityName): boolean => {
    const value = use?.capabilities?.[name];
    return value !== undefined && value !== false && !(Array.isArray(value) && value.length === 0);
  };
  const namesOf = (rules: readonly AppliedRule[]): readonly string[] =>
    Object.freeze(rules.map(({ name }) => name));
  const granted = CAPABILITY_NAMES.filter((name) => capabilities[name] !== undefined);
  const withheld = CAPABILITY_NAMES.filter(
    (name) => capabilities[name] === undefined && granting.some((rule) => has(rule, name)),
  );
  return Object.freeze({
    sandbox: first.name,
    limits: record(limitOrigins),
    capabilities: record(granted.map((name) => [name, namesOf(granting.filter((rule) => has(rule, name)))])),
    withheld: record(withheld.map((name) => [name, namesOf(granting.filter((rule) => !has(rule, name)))])),
  });
}

function record<Value>(entries: readonly (readonly [string, Value])[]): Readonly<Record<string, Value>> {
  return Object.freeze(Object.fromEntries(entries));
}
