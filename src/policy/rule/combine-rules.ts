import type { SandboxMode } from "../../tool/sandbox-mode.ts";
import {
  CAPABILITY_NAMES,
  type Capabilities,
  type CapabilityName,
  commonCapabilities,
} from "../grant/capabilities.ts";
import { fillIn, type TemplateSource } from "../grant/execution-grant.ts";
import { TemplateRefusal } from "../grant/file-template.ts";
import { LIMIT_NAMES, strictestLimits } from "../grant/limits.ts";
import {
  type AskOptions,
  allow,
  ask,
  type DenyDecision,
  deny,
  type ExplainedRule,
  type GrantOrigins,
  NO_ORIGINS,
  type PolicyDecision,
  type PolicySubject,
} from "../policy.ts";
import type { MatchedCall } from "./conditions/condition.ts";
import { type AllowedUse, type AskRule, type DenyRule, type PolicyRule, usedBy } from "./rule.ts";
import { type Clock, type MatchedTool, type MissedCondition, RuleMatcher } from "./rule-matcher.ts";

/** Explains whether a rule that names a tool matches calls of it. */
export class RuleExplainer {
  readonly rule: CompiledRule;
  /** The same for all calls. */
  readonly #ofTool: ExplainedRule | undefined;
  readonly #whenMatched: ExplainedRule;
  /** The explanations for calls that fail a single condition, which is how most calls fail most rules. */
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

/**
 * Decides on a call to which all these rules apply: asks if one of them asks, and grants what all of them allow that
 * grant anything.
 *
 * @param mayGrant Whether one of the rules certainly matches, so that the call gets what they grant.
 * @param call Fills in what capabilities take from the call.
 */
export function combineRules(
  applied: readonly AppliedRule[],
  tool: PolicySubject,
  mayGrant: boolean,
  call: TemplateSource,
): PolicyDecision {
  const inOrder = applied.toSorted((a, b) => a.place - b.place);
  const questions = inOrder.filter(({ question }) => question !== undefined);
  const granting = mayGrant ? inOrder.filter(({ use }) => use !== undefined) : [];
  const rules = inOrder.filter((rule) => questions.includes(rule) || granting.includes(rule));
  const names = rules.map(({ name }) => name);
  const [first, ...others] = granting.map(({ use }) => use as AllowedUse);
  if (first === undefined) return askAbout(questions, { rules: names });
  const sandboxes = commonSandboxes(first, others, tool);
  const [sandbox] = sandboxes;
  if (sandbox === undefined) {
    const needed = granting.map(({ name }) => `'${name}'`).join(", ");
    return deny(`the tool cannot run in any sandbox that all matching rules allow: ${needed}`, {
      rules: granting.map(({ name }) => name),
    });
  }
  const filledIn = granting.map((rule) => fillInFor(rule, call));
  const refusal = filledIn.find((each) => "decision" in each);
  if (refusal !== undefined) return refusal;
  const limits = granting.map(({ use }) => use?.limits ?? {}).reduce(strictestLimits);
  const capabilities = (filledIn as readonly Capabilities[]).reduce(commonCapabilities);
  const isolation = granting.find(({ use }) => use?.isolation !== undefined)?.use?.isolation;
  const grant = { sandbox, ...(isolation && { isolation }), limits, capabilities };
  if (questions.length > 0) return askAbout(questions, { grant, sandboxes, rules: names });
  return allow(grant, { sandboxes, rules: names });
}

/** Returns the capabilities that a rule grants to a call, or a denial if they depend on what the call does not have. */
function fillInFor({ name, use }: AppliedRule, call: TemplateSource): Capabilities | DenyDecision {
  try {
    return fillIn(use?.capabilities ?? {}, call);
  } catch (error) {
    if (!(error instanceof TemplateRefusal)) throw error;
    return deny(`'${name}' cannot grant anything to this call: ${error.message}`, { rules: [name] });
  }
}

function askAbout(questions: readonly AppliedRule[], options: AskOptions): PolicyDecision {
  const texts = new Set(questions.map(({ question = "" }) => question));
  const isRemembered = questions.every((rule) => rule.isRemembered);
  return ask([...texts].join("\n"), { ...options, ...(isRemembered && { remember: "session" }) });
}

/** The sandboxes in which the tool can run and that all list, in the order of the first. */
function commonSandboxes(
  { sandboxes }: AllowedUse,
  others: readonly AllowedUse[],
  tool: PolicySubject,
): readonly SandboxMode[] {
  return sandboxes.filter(
    (mode) => tool.sandboxes.includes(mode) && others.every((other) => other.sandboxes.includes(mode)),
  );
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
