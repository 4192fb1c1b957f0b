import type { Flaw } from "../../config/shape.ts";
import type { JsonBounds } from "../../json/bounds.ts";
import { copyJson } from "../../json/copy.ts";
import { escapePointer } from "../../json/pointer.ts";
import { type JsonValue, JsonValueError } from "../../json/value.ts";
import { commonCapabilities } from "../grant/capabilities.ts";
import { strictestLimits } from "../grant/limits.ts";
import { lookUp } from "../json-pointer.ts";
import {
  allow,
  deny,
  type PolicyDecision,
  type PolicyRequest,
  type PolicySubject,
  type RuntimePolicy,
} from "../policy.ts";
import { compileRestriction, type Permission, type Restriction, RuleMatcher } from "./compiled-rule.ts";
import { DecisionCache } from "./decision-cache.ts";
import type { RulePolicyOptions } from "./rule.ts";
import { ruleFlaws, ruleName } from "./rule-flaws.ts";
import { policyShape } from "./rule-shape.ts";

/** Far beyond any policy that somebody maintains: an embedder's rules are no model's arguments. */
const POLICY_BOUNDS: JsonBounds = Object.freeze({
  length: 64 * 1_024 * 1_024,
  values: 5_000_000,
  members: 2_000_000,
});

const NO_RULE = Object.freeze(deny("no rule allows this call"));

/** The rules that can match one tool's calls, and the grants that were made for it. */
interface ToolRules {
  readonly denials: readonly Restriction[];
  readonly questions: readonly Restriction[];
  readonly permissions: readonly Permission[];
  /** Those of the permissions that look at the arguments; the others always match. */
  readonly conditional: readonly Permission[];
  /** What was decided before, by the conditional permissions that bind. */
  readonly bindings: DecisionCache;
}

/**
 * Decides by rules. The strictest rule that matches wins: a denial over a question over a permission. Of the
 * permissions that match, all bind: the limits are the least of each, the capabilities those that all give,
 * the sandboxes those that all list, in the order of the first. So a further rule never loosens what a call
 * that matched was held to. A call that no rule matches is denied, unless `default` allows it.
 *
 * Where it is unclear whether a rule matches (see `compileCondition`), a denial and a question hold as if it
 * did; a permission does not let the call run, but binds it when another one, or the default, does.
 *
 * Deciding is pure: the same policy and call give the same decision.
 */
export class RulePolicy implements RuntimePolicy {
  readonly #denials: readonly Restriction[];
  readonly #questions: readonly Restriction[];
  readonly #permissions: readonly Permission[];
  readonly #default: Permission | undefined;
  /** What a registry holds of a tool is one object as long as the tool is registered. */
  readonly #toolRules = new WeakMap<PolicySubject, ToolRules>();

  /** @throws {TypeError} for a malformed rule, by name, with everything that is wrong. */
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
    // Permissions that rule each other out deny, and a question does not make that less of a denial.
    if (question !== undefined && permitted?.decision !== "deny") return question;
    return permitted ?? NO_RULE;
  }

  /** What the permissions that match come to; `undefined` when nothing allows the call. */
  #permit(rules: ToolRules, tool: PolicySubject, input: JsonValue): PolicyDecision | undefined {
    const { permissions, conditional } = rules;
    let isAllowed = permissions.length > conditional.length;
    let binding = rules.bindings.none;
    for (const permission of conditional) {
      const match = permission.matcher.match(input);
      if (match === "no") continue;
      if (match === "yes") isAllowed = true;
      binding = rules.bindings.with(permission, binding);
    }
    const otherwise = isAllowed ? undefined : this.#default;
    if (otherwise !== undefined) binding = rules.bindings.with(otherwise, binding);
    else if (!isAllowed) return undefined;
    if (binding.decision === undefined) {
      const matching = permissions.filter(({ matcher }) => matcher.match(input) !== "no");
      binding.decision = combine(otherwise === undefined ? matching : [...matching, otherwise], tool);
    }
    return binding.decision;
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
      bindings: new DecisionCache(),
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

/** What permissions that all bind come to. */
function combine(permissions: readonly Permission[], tool: PolicySubject): PolicyDecision {
  const names = permissions.map(({ name }) => `'${name}'`).join(", ");
  const [first, ...others] = permissions.map(({ use }) => use);
  const sandbox = first?.sandboxes.find(
    (mode) => tool.sandboxes.includes(mode) && others.every(({ sandboxes }) => sandboxes.includes(mode)),
  );
  if (first === undefined || sandbox === undefined) {
    return Object.freeze(deny(`${names} together allow no sandbox in which the tool can run`));
  }
  let { limits = {}, capabilities = {} } = first;
  for (const other of others) {
    limits = strictestLimits(limits, other.limits ?? {});
    capabilities = commonCapabilities(capabilities, other.capabilities ?? {});
  }
  return Object.freeze(allow({ sandbox, limits, capabilities }));
}

/** A frozen copy that nobody can change, of the shape that the types promise. */
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
    if (error instanceof JsonValueError) throw new TypeError(`the rules are no JSON: ${error.message}`);
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
