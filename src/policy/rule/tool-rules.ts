import { hasTemplates } from "../grant/execution-grant.ts";
import { type Speller, type Spellings, spellerFor } from "../match/spellings.ts";
import {
  deny,
  type ExplainedRule,
  type GrantOrigins,
  type NearMiss,
  type PolicyDecision,
  type PolicyExplanation,
  type PolicySubject,
} from "../policy.ts";
import type { AppliedRule, CompiledDenial, CompiledPermission, CompiledRule } from "./combine-rules.ts";
import { combineRules, originsOf, RuleExplainer } from "./combine-rules.ts";
import { ConditionIndex } from "./condition-index.ts";
import type { MatchedCall } from "./conditions/condition.ts";
import type { DefaultUse } from "./rule.ts";
import type { MatchedTool } from "./rule-matcher.ts";

/** The decision for one set of conditional rules that apply. */
interface CachedDecision {
  /** `undefined` until it is first needed. */
  decision: PolicyDecision | undefined;
  /** The entries for this set with one more rule. */
  readonly next: Map<AppliedRule, CachedDecision>;
  /** The last rule of the set, and the entry for the set without it; `undefined` for the empty set. */
  readonly last: { readonly rule: AppliedRule; readonly previous: CachedDecision } | undefined;
}

/** Maximum number of entries for one tool. Only arguments chosen to fill the cache lead to more. */
const MAX_ENTRIES = 256;

/**
 * The decisions on calls of one tool, by the set of conditional rules that apply. It is a tree with one level for
 * each rule, which costs less than building a text key for each call.
 */
class DecisionCache {
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
    const added = createEntry({ rule, previous: entry });
    entry.next.set(rule, added);
    return added;
  }
}

/** The number of rules that are examined for one denied call, and of those that are reported. */
const MAX_EXAMINED = 50;

const MAX_REPORTED = 5;

const NO_RULE = deny("no rule allows this call");

/** What a person is asked about a call that no rule allows. */
const NOT_ALLOWED = "No rule allows this call without confirmation";

/** Stands for a rule in the set of a call that nothing grants anything. */
const NO_GRANT: AppliedRule = Object.freeze({
  name: "",
  place: Number.POSITIVE_INFINITY,
  use: undefined,
  question: undefined,
  isRemembered: false,
});

/** A call with other spellings of its input. Its other members are read when a condition depends on them. */
class SpelledCall implements MatchedCall {
  readonly input: MatchedCall["input"];
  readonly spelled: Spellings;
  readonly #call: MatchedCall;

  constructor(call: MatchedCall, spelled: Spellings) {
    this.input = call.input;
    this.spelled = spelled;
    this.#call = call;
  }

  get principal(): MatchedCall["principal"] {
    return this.#call.principal;
  }

  get sessionId(): string {
    return this.#call.sessionId;
  }

  get workspace(): MatchedCall["workspace"] {
    return this.#call.workspace;
  }

  get history(): MatchedCall["history"] {
    return this.#call.history;
  }

  get time(): MatchedCall["time"] {
    return this.#call.time;
  }
}

/** The rules that can match calls of one tool, and the decisions that were made for it. */
export class ToolRules {
  readonly #tool: PolicySubject;
  readonly #findsNearMisses: boolean;
  /** The rules that name the tool, in the order of the policy. */
  readonly #rules: readonly CompiledRule[];
  readonly #denials: ConditionIndex<CompiledDenial>;
  /** The rules that allow or ask, and that depend on the call. */
  readonly #conditional: ConditionIndex<CompiledPermission>;
  /** Those that always match. */
  readonly #always: readonly AppliedRule[];
  readonly #isAlwaysGranted: boolean;
  readonly #isAlwaysAsked: boolean;
  /** Applies if no rule grants anything, or else {@link NO_GRANT}. */
  readonly #otherwise: AppliedRule;
  /** Whether grants depend on more than the rules that apply, so that decisions cannot be used again. */
  readonly #hasTemplates: boolean;
  /** The rules that would grant something if the tool or the call met their conditions. */
  readonly #missable: readonly CompiledPermission[];
  /** Finds other spellings of declared paths and URLs, if rules depend on them. */
  readonly #spell: Speller | undefined;
  #explainers: readonly RuleExplainer[] | undefined;
  /** The same rules lead to the same decision, unless it depends on more. */
  readonly #origins = new WeakMap<PolicyDecision, GrantOrigins>();
  /** Earlier decisions, by the set of conditional rules that applied. */
  readonly #decisions = new DecisionCache();

  /**
   * @param rules The rules that name the tool, in the order of the policy.
   * @param findsNearMisses Whether denials by no rule say which rules came near.
   */
  constructor(
    rules: readonly CompiledRule[],
    tool: PolicySubject,
    byDefault: DefaultUse | undefined,
    findsNearMisses: boolean,
  ) {
    this.#tool = tool;
    this.#findsNearMisses = findsNearMisses;
    this.#rules = rules;
    const concerned = rules.filter(({ matcher }) => matcher.concerns(tool));
    this.#spell = spellerFor(
      tool.access,
      concerned.flatMap(({ matcher }) => matcher.inputs),
    );
    this.#denials = new ConditionIndex(concerned.filter((rule) => rule.kind === "denial"));
    const permissions = concerned.filter((rule) => rule.kind === "permission");
    this.#conditional = new ConditionIndex(permissions.filter(({ matcher }) => matcher.isConditional));
    this.#always = permissions.flatMap(({ matcher, whenMatched }) =>
      matcher.isConditional ? [] : [whenMatched],
    );
    this.#isAlwaysGranted = this.#always.some(({ use }) => use !== undefined);
    this.#isAlwaysAsked = this.#always.some(({ question }) => question !== undefined);
    const question = byDefault?.effect === "ask" ? NOT_ALLOWED : undefined;
    this.#otherwise =
      byDefault === undefined ? NO_GRANT : { ...NO_GRANT, name: "default", use: byDefault, question };
    const uses = [...permissions.map(({ whenMatched }) => whenMatched), this.#otherwise].map(
      ({ use }) => use,
    );
    this.#hasTemplates = uses.some((use) => hasTemplates(use?.capabilities));
    this.#missable = rules
      .filter((rule) => rule.kind === "permission")
      .filter(({ whenMatched: { use } }) => use !== undefined);
  }

  decide(call: MatchedCall): PolicyDecision {
    return this.#decide(this.#spelled(call));
  }

  #spelled(call: MatchedCall): MatchedCall {
    const spelled = this.#spell?.(call);
    return spelled === undefined ? call : new SpelledCall(call, spelled);
  }

  #decide(call: MatchedCall): PolicyDecision {
    for (const { matcher, whenMatched, whenUnclear } of this.#denials.candidates(call)) {
      const match = matcher.match(call);
      if (match !== "no") return match === "yes" ? whenMatched : whenUnclear;
    }
    let cached = this.#decisions.root;
    let isGranted = this.#isAlwaysGranted;
    let isAsked = this.#isAlwaysAsked;
    for (const { matcher, whenMatched, whenUnclear } of this.#conditional.candidates(call)) {
      const match = matcher.match(call);
      if (match === "no") continue;
      if (match === "yes" && whenMatched.use !== undefined) isGranted = true;
      if (whenMatched.question !== undefined) isAsked = true;
      cached = this.#decisions.next(cached, match === "yes" ? whenMatched : whenUnclear);
    }
    if (!isGranted) {
      if (!isAsked && this.#otherwise === NO_GRANT) return this.#denyByDefault(call);
      if (this.#otherwise.question !== undefined) return this.#askByDefault(cached, call);
      cached = this.#decisions.next(cached, this.#otherwise);
    }
    if (this.#hasTemplates) return this.#combine(cached, call);
    cached.decision ??= this.#combine(cached, call);
    return cached.decision;
  }

  /** Whether some call of a principal could run: no rule denies them all, and one could grant something. */
  mayAllow(principal: MatchedCall["principal"]): boolean {
    const concerned = this.#rules.filter(({ matcher }) => matcher.concerns(this.#tool));
    const isDenied = concerned.some(({ kind, matcher }) => {
      const match = matcher.matchCaller(principal, this.#tool);
      return kind === "denial" && (match === "yes" || match === "unclear");
    });
    if (isDenied) return false;
    if (this.#otherwise !== NO_GRANT) return true;
    return concerned.some((rule) => {
      if (rule.kind === "denial" || rule.whenMatched.use === undefined) return false;
      const match = rule.matcher.matchCaller(principal, this.#tool);
      return match === "yes" || match === "depends";
    });
  }

  explain(asked: MatchedCall): PolicyExplanation {
    const call = this.#spelled(asked);
    const decision = this.#decide(call);
    this.#explainers ??= this.#rules.map((rule) => new RuleExplainer(rule, this.#tool));
    const rules: ExplainedRule[] = [];
    const applied: AppliedRule[] = [];
    let isGranted = false;
    for (const explainer of this.#explainers) {
      const explained = explainer.explain(call);
      rules.push(explained);
      const { rule } = explainer;
      if (explained.matched === "no" || rule.kind === "denial" || rule.whenMatched.use === undefined)
        continue;
      if (explained.matched === "yes") isGranted = true;
      applied.push(rule.whenMatched);
    }
    if (!isGranted && this.#otherwise.use !== undefined) applied.push(this.#otherwise);
    let origins = this.#origins.get(decision);
    if (origins === undefined) {
      origins = originsOf(decision, applied);
      this.#origins.set(decision, origins);
    }
    return { decision, rules, ...origins };
  }

  #combine(cached: CachedDecision, call: MatchedCall): PolicyDecision {
    const applied = [...this.#always, ...rulesOf(cached)];
    return combineRules(applied, this.#tool, !applied.includes(NO_GRANT), call);
  }

  /** Asks with the rule that came nearest, so that the person can see what is unusual about the call. */
  #askByDefault(cached: CachedDecision, call: MatchedCall): PolicyDecision {
    const [nearest] = findNearMisses(this.#missable, this.#tool, call);
    const hint = nearest === undefined ? "" : `: '${nearest.rule}' does not, because of ${nearest.missed}`;
    const otherwise = { ...this.#otherwise, question: `${NOT_ALLOWED}${hint}` };
    return combineRules([...this.#always, ...rulesOf(cached), otherwise], this.#tool, true, call);
  }

  #denyByDefault(call: MatchedCall): PolicyDecision {
    if (!this.#findsNearMisses) return NO_RULE;
    const near = findNearMisses(this.#missable, this.#tool, call);
    return near.length === 0 ? NO_RULE : deny(NO_RULE.reason, { near });
  }
}

/**
 * Finds the rules that would have granted something to a call but for a condition, or the tool's side effects or tags.
 * Those that missed the least come first.
 *
 * @param rules Rules that name the tool.
 */
function findNearMisses(
  rules: readonly CompiledPermission[],
  tool: MatchedTool,
  call: MatchedCall,
): readonly NearMiss[] {
  return rules
    .slice(0, MAX_EXAMINED)
    .map(({ matcher, whenMatched: { name } }) => {
      const missedByTool = matcher.missedBy(tool) ?? [];
      return { rule: name, missed: [missedByTool, matcher.missedConditions(call)].flat() };
    })
    .sort((a, b) => a.missed.length - b.missed.length)
    .slice(0, MAX_REPORTED)
    .map(({ rule, missed }) => ({ rule, missed: missed.join("; ") }));
}

/** Returns the rules of an entry's set, from the first to the last. */
function rulesOf(entry: CachedDecision): AppliedRule[] {
  const rules: AppliedRule[] = [];
  for (let { last } = entry; last !== undefined; { last } = last.previous) rules.push(last.rule);
  return rules.reverse();
}

function createEntry(last: CachedDecision["last"]): CachedDecision {
  return { decision: undefined, next: new Map(), last };
}
