import { type DenyDecision, deny } from "../policy.ts";
import { type AllowedUse, type AskRule, type DenyRule, type PolicyRule, usedBy } from "./rule.ts";
import { type Clock, RuleMatcher } from "./rule-matcher.ts";

/** A rule as it is compiled once, for all tools. */
export type CompiledRule = CompiledDenial | CompiledPermission;

/** What compiled rules of both kinds have. */
interface CompiledBasis {
  readonly name: string;
  readonly effect: PolicyRule["effect"];
  readonly matcher: RuleMatcher;
}

/** A rule that denies, with its decisions. */
export interface CompiledDenial extends CompiledBasis {
  readonly kind: "denial";
  readonly whenMatched: DenyDecision;
  readonly whenUnclear: DenyDecision;
}

/** A rule that allows or asks. */
export interface CompiledPermission extends CompiledBasis {
  readonly kind: "permission";
  readonly whenMatched: AppliedRule;
  readonly whenUnclear: AppliedRule;
}

/** What a rule that allows or asks says about a call. */
export interface AppliedRule {
  readonly name: string;
  /** The index of the rule in the policy. */
  readonly place: number;
  /** What the rule grants. If it is unclear whether the rule matches, this only restricts what others grant. */
  readonly use: AllowedUse | undefined;
  /** Set if the rule asks. */
  readonly question: string | undefined;
  readonly isRemembered: boolean;
}

/** Compiles a rule that was checked. */
export function compileRule(rule: PolicyRule, name: string, place: number, now: Clock): CompiledRule {
  const { effect } = rule;
  const matcher = new RuleMatcher(rule, now);
  if (rule.effect === "deny") return { kind: "denial", name, effect, matcher, ...decisionsOf(rule, name) };
  const [question, unclearQuestion] = rule.effect === "ask" ? questionsOf(rule, name) : [];
  const isRemembered = rule.effect === "ask" && rule.remember === "session";
  const whenMatched = { name, place, use: usedBy(rule), question, isRemembered };
  const whenUnclear =
    question === unclearQuestion ? whenMatched : { ...whenMatched, question: unclearQuestion };
  return { kind: "permission", name, effect, matcher, whenMatched, whenUnclear };
}

const UNCLEAR = ", because it is unclear whether the rule matches";

function decisionsOf(
  { reason }: DenyRule,
  name: string,
): Pick<CompiledDenial, "whenMatched" | "whenUnclear"> {
  const because = reason === undefined ? "" : `: ${reason}`;
  return {
    whenMatched: deny(`'${name}' denies this call${because}`, { rules: [name] }),
    whenUnclear: deny(`'${name}' denies this call${UNCLEAR}${because}`, { rules: [name] }),
  };
}

function questionsOf({ question, reason }: AskRule, name: string): [string, string] {
  if (question !== undefined) return [question, question];
  const because = reason === undefined ? "" : `: ${reason}`;
  const asks = `'${name}' requires confirmation of this call`;
  return [`${asks}${because}`, `${asks}${UNCLEAR}${because}`];
}
