import { CanonicalJson } from "../../json/canonical.ts";
import type { JsonValue } from "../../json/value.ts";
import type { TrackedFields } from "../call-history.ts";
import type {
  PolicyDecision,
  PolicyExplanation,
  PolicyPlace,
  PolicyRequest,
  PolicySubject,
  RuntimePolicy,
} from "../policy.ts";
import type { Principal } from "../principal.ts";
import { type CompiledRule, compileRule } from "./combine-rules.ts";
import { trackedFieldsOf } from "./conditions/tracked-fields.ts";
import type { DefaultUse, RulePolicyOptions } from "./rule.ts";
import { ruleName } from "./rule-flaws.ts";
import type { Clock, MatchedTool, RuleMatcher } from "./rule-matcher.ts";
import { checkOptions } from "./rule-shape.ts";
import { ToolRules } from "./tool-rules.ts";

/** Finds the rules for a tool by its name and tags. Only rules with wildcards are compared with every tool. */
export class RuleBook {
  readonly #byName = new Map<string, Placed[]>();
  readonly #byTag = new Map<string, Placed[]>();
  readonly #withWildcards: Placed[] = [];

  /** @param rules In the order of the policy. */
  constructor(rules: readonly CompiledRule[]) {
    for (const [place, rule] of rules.entries()) {
      for (const list of this.#listsOf(rule.matcher)) list.push({ rule, place });
    }
  }

  /** The rules that name the tool, in the order of the policy. Its side effects or tags can still rule them out. */
  find(tool: MatchedTool): readonly CompiledRule[] {
    const byTag = (tool.tags ?? []).flatMap((tag) => this.#byTag.get(tag) ?? []);
    const found = new Map<number, CompiledRule>();
    for (const { place, rule } of [
      ...(this.#byName.get(tool.name) ?? []),
      ...byTag,
      ...this.#withWildcards,
    ]) {
      if (rule.matcher.names(tool)) found.set(place, rule);
    }
    return [...found].sort(([a], [b]) => a - b).map(([, rule]) => rule);
  }

  #listsOf({ toolNames, tags }: RuleMatcher): readonly Placed[][] {
    if (toolNames === "all") return [...new Set(tags)].map((tag) => listOf(this.#byTag, tag));
    if (toolNames === "wildcards") return [this.#withWildcards];
    return [...new Set(toolNames)].map((name) => listOf(this.#byName, name));
  }
}

interface Placed {
  readonly rule: CompiledRule;
  readonly place: number;
}

/**
 * Decides by rules. The strictest matching rule wins: `deny` over `ask` over `allow`. If several `allow`
 * rules match, all of them apply: the grant has the lowest value of each limit, the capabilities that all
 * rules grant, and the first sandbox of the first rule that all rules list. Adding a rule therefore never
 * loosens the decision on a call that already matched a rule. A call that no rule matches is denied, unless
 * `default` allows it.
 *
 * A call that must be confirmed gets a grant in the same way: from the `allow` rules and the granting `ask` rules that
 * match, or from `default`. If none of them grants anything, the decision asks without a grant, and the call is denied.
 *
 * If it is unclear whether a rule matches (see `compileCondition`), a `deny` or `ask` rule applies as if it
 * matched. An `allow` rule does not allow the call, but restricts it if another rule or the default allows
 * it.
 *
 * Deciding is pure: the same policy, call and history give the same decision, until a rule ends (`until`).
 */
export class RulePolicy implements RuntimePolicy {
  readonly #options: RulePolicyOptions;
  #canonical: CanonicalJson | undefined;
  readonly #rules: RuleBook;
  readonly #default: DefaultUse | undefined;
  readonly #findsNearMisses: boolean;
  readonly trackedFields: TrackedFields | undefined;
  readonly places: readonly (PolicyPlace | undefined)[];
  /** Whether a rule depends on the user's words, on where values came from, or on earlier calls. */
  readonly usesHistory: boolean;
  /** Keyed by the tool's object, which a registry does not replace while the tool is registered. */
  readonly #toolRules = new WeakMap<PolicySubject, ToolRules>();

  /**
   * @param now The clock for rules that end. Default: `Date.now`.
   * @param findsNearMisses Whether denials by no rule say which rules came near. Default: `true`.
   * @param place Where the rules were read, and checked as {@link checkOptions} does. Default: they were made in code.
   * @throws {TypeError} if the options are invalid. The message lists every problem, with the rule's name.
   */
  constructor(
    options: RulePolicyOptions,
    now: Clock = Date.now,
    findsNearMisses = true,
    place?: PolicyPlace | undefined,
  ) {
    this.places = [place];
    this.#options = place === undefined ? checkOptions(options) : options;
    this.#findsNearMisses = findsNearMisses;
    const { rules, default: otherwise = "deny" } = this.#options;
    this.#rules = new RuleBook(
      rules.map((rule, index) => compileRule(rule, ruleName(rule, index), index, now)),
    );
    this.#default = otherwise === "deny" ? undefined : otherwise;
    const tracked = trackedFieldsOf(rules.flatMap(({ when }) => when ?? []));
    const untrusted = (this.#options.untrusted ?? []).flatMap(({ tool, fields = [""] }) =>
      fields.map((field) => ({ tool, field })),
    );
    this.trackedFields =
      untrusted.length === 0 ? tracked : { ...(tracked ?? { sources: [], contents: [] }), untrusted };
    this.usesHistory =
      tracked !== undefined ||
      rules.some(({ asked, history }) => asked !== undefined || history !== undefined);
  }

  /** The SHA-256 digest of the options as canonical JSON, in hexadecimal: the same for equal rules. */
  get revision(): string {
    return this.#form.digest;
  }

  /** The options as canonical JSON. */
  get sources(): readonly string[] {
    return [this.#form.text];
  }

  get #form(): CanonicalJson {
    this.#canonical ??= new CanonicalJson(this.#options as unknown as JsonValue);
    return this.#canonical;
  }

  check(request: PolicyRequest): PolicyDecision {
    return this.#rulesOf(request.tool).decide(request);
  }

  explain(request: PolicyRequest): PolicyExplanation {
    return this.#rulesOf(request.tool).explain(request);
  }

  mayAllow(tool: PolicySubject, principal: Principal | undefined): boolean {
    return this.#rulesOf(tool).mayAllow(principal);
  }

  #rulesOf(tool: PolicySubject): ToolRules {
    let rules = this.#toolRules.get(tool);
    if (rules === undefined) {
      rules = new ToolRules(this.#rules.find(tool), tool, this.#default, this.#findsNearMisses);
      this.#toolRules.set(tool, rules);
    }
    return rules;
  }
}

function listOf(lists: Map<string, Placed[]>, key: string): Placed[] {
  const list = lists.get(key) ?? [];
  lists.set(key, list);
  return list;
}
