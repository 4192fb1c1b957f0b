import type { Flaw } from "../../config/shape.ts";
import type { JsonBounds } from "../../json/bounds.ts";
import { copyJson } from "../../json/copy.ts";
import { escapePointer, lookUp } from "../../json/pointer.ts";
import { type JsonValue, JsonValueError } from "../../json/value.ts";
import { allow, deny, type PolicyDecision } from "../decision.ts";
import { commonCapabilities } from "../grant/capabilities.ts";
import { strictestLimits } from "../grant/limits.ts";
import type { PolicyRequest, PolicySubject, RuntimePolicy } from "../policy.ts";
import { compileRestriction, type Permission, type Restriction, RuleMatcher } from "./compiled-rule.ts";
import { DecisionCache } from "./decision-cache.ts";
import type { RulePolicyOptions } from "./rule.ts";
import { ruleFlaws, ruleName } from "./rule-flaws.ts";
import { policyShape } from "./rule-shape.ts";

/** Far above any realistic policy. Rules are trusted, so the bounds for a model's arguments do not apply. */
const POLICY_BOUNDS: JsonBounds = Object.freeze({
  length: 64 * 1_024 * 1_024,
  values: 5_000_000,
  members: 2_000_000,
});

const NO_RULE = Object.freeze(deny("no rule allows this call"));

/** The rules that can match calls of one tool, and the decisions that were made for it. */
interface ToolRules {
  readonly denials: readonly Restriction[];
  readonly questions: readonly Restriction[];
  readonly permissions: readonly Permission[];
  /** The permissions that depend on the arguments. The others always match. */
  readonly conditional: readonly Permission[];
  /** Earlier decisions, by the set of conditional permissions that matched. */
  readonly decisions: DecisionCache;
}

/**
 * Decides by rules. The strictest matching rule wins: `deny` over `ask` over `allow`. If several `allow`
 * rules match, all of them apply: the grant has the lowest value of each limit, the capabilities that all
 * rules grant, and the first sandbox of the first rule that all rules list. Adding a rule therefore never
 * loosens the decision on a call that already matched a rule. A call that no rule matches is denied, unless
 * `default` allows it.
 *
 * If it is unclear whether a rule matches (see `compileCondition`), a `deny` or `ask` rule applies as if it
 * matched. An `allow` rule does not allow the call, but restricts it if another rule or the default allows
 * it.
 *
 * Deciding is pure: the same policy and call give the same decision.
 */
export class RulePolicy implements RuntimePolicy {
  readonly #denials: readonly Restriction[];
  readonly #questions: readonly Restriction[];
  readonly #permissions: readonly Permission[];
  readonly #default: Permission | undefined;
  /** Keyed by the tool's object, which a registry does not replace while the tool is registered. */
  readonly #toolRules = new WeakMap<PolicySubject, ToolRules>();

  /**
   * @throws {TypeError} if the options are invalid. The message lists every problem, with the rule's name.
   */
  constructor(options: RulePolicyOptions) {
    const { rules, default: otherwise = "deny" } = checkOptions(options);
    const compiled = rules.map((rule, index) => ({ rule, name: ruleName(rule, index) }));
    const restrictions = (effect: "deny" | "ask"): Restriction[] =>
      compiled.flatMap(({ rule, name }) => (rule.effect === effect ? [compileRestriction(rule, name)] : []));
    this.#denials = restrictions("deny");
    this.#questions = restrictions("ask");
    this.#permissions = compiled.flatMap(({ rule, name }) =>
      rule.effect === "allow" ? [{ matcher: new RuleMatcher(rule), name, use: rule }] : [],
    );
    if (otherwise !== "deny") {
      const matcher = new RuleMatcher({ tools: ["*"] });
      this.#default = { matcher, name: "default", use: otherwise };
    }
  }

  check({ tool, input }: PolicyRequest): PolicyDecision {
    const rules = this.#rulesOf(tool);
    const denial = findRestriction(rules.denials, input);
    if (denial !== undefined) return denial;
    const question = findRestriction(rules.questions, input);
    const permitted = this.#permit(rules, tool, input);
    // Permissions without a common sandbox deny the call, even if another rule asks.
    if (question !== undefined && permitted?.decision !== "deny") return question;
    return permitted ?? NO_RULE;
  }

  /** Combines the permissions that match; `undefined` if nothing allows the call. */
  #permit(rules: ToolRules, tool: PolicySubject, input: JsonValue): PolicyDecision | undefined {
    const { permissions, conditional } = rules;
    let isAllowed = permissions.length > conditional.length;
    let cached = rules.decisions.root;
    for (const permission of conditional) {
      const match = permission.matcher.match(input);
      if (match === "no") continue;
      if (match === "yes") isAllowed = true;
      cached = rules.decisions.next(cached, permission);
    }
    const otherwise = isAllowed ? undefined : this.#default;
    if (otherwise !== undefined) cached = rules.decisions.next(cached, otherwise);
    else if (!isAllowed) return undefined;
    if (cached.decision === undefined) {
      const matching = permissions.filter(({ matcher }) => matcher.match(input) !== "no");
      cached.decision = combine(otherwise === undefined ? matching : [...matching, otherwise], tool);
    }
    return cached.decision;
  }

  #rulesOf(tool: PolicySubject): ToolRules {
    return this.#toolRules.get(tool) ?? this.#findRules(tool);
  }

  #findRules(tool: PolicySubject): ToolRules {
    const concerns = ({ matcher }: { readonly matcher: RuleMatcher }): boolean => matcher.concerns(tool);
    const permissions = this.#permissions.filter(concerns);
    const rules = {
      denials: this.#denials.filter(concerns),
      questions: this.#questions.filter(concerns),
      permissions,
      conditional: permissions.filter(({ matcher }) => matcher.isConditional),
      decisions: new DecisionCache(),
    };
    this.#toolRules.set(tool, rules);
    return rules;
  }
}

function findRestriction(restrictions: readonly Restriction[], input: JsonValue): PolicyDecision | undefined {
  for (const { matcher, whenMatched, whenUnclear } of restrictions) {
    const match = matcher.match(input);
    if (match !== "no") return match === "yes" ? whenMatched : whenUnclear;
  }
  return undefined;
}

/** Decides on a call to which all the given permissions apply. */
function combine(permissions: readonly Permission[], tool: PolicySubject): PolicyDecision {
  const names = permissions.map(({ name }) => `'${name}'`).join(", ");
  const [first, ...others] = permissions.map(({ use }) => use);
  const sandbox = first?.sandboxes.find(
    (mode) => tool.sandboxes.includes(mode) && others.every(({ sandboxes }) => sandboxes.includes(mode)),
  );
  if (first === undefined || sandbox === undefined) {
    return Object.freeze(deny(`the tool cannot run in any sandbox that all matching rules allow: ${names}`));
  }
  let { limits = {}, capabilities = {} } = first;
  for (const other of others) {
    limits = strictestLimits(limits, other.limits ?? {});
    capabilities = commonCapabilities(capabilities, other.capabilities ?? {});
  }
  return Object.freeze(allow({ sandbox, limits, capabilities }));
}

/** Checks the options, and returns a deeply frozen copy. */
function checkOptions(options: RulePolicyOptions): RulePolicyOptions {
  const copy = copyOptions(options);
  const flaws = policyShape(copy);
  const checked = copy as unknown as RulePolicyOptions;
  const all = flaws.length > 0 ? flaws : ruleFlaws(checked.rules.entries(), checked.default);
  if (all.length > 0) throw new TypeError(all.map((flaw) => describeFlaw(flaw, copy)).join("; "));
  return checked;
}

function copyOptions(options: RulePolicyOptions): JsonValue {
  try {
    return copyJson(options, POLICY_BOUNDS);
  } catch (error) {
    if (error instanceof JsonValueError)
      throw new TypeError(`the rules are not valid JSON: ${error.message}`);
    throw error;
  }
}

function describeFlaw({ path, message }: Flaw, options: JsonValue): string {
  const [member, index, ...rest] = path;
  if (member !== "rules" || index === undefined) return `${pointerOf(path)}${message}`;
  const name = lookUp(options, ["rules", index, "name"]);
  const place = `rule ${Number(index) + 1}`;
  return `${place}${typeof name === "string" ? ` ('${name}')` : ""}: ${pointerOf(rest)}${message}`;
}

function pointerOf(path: readonly string[]): string {
  return path.length === 0 ? "" : `/${path.map(escapePointer).join("/")} `;
}
