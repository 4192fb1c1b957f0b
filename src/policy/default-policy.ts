import { type OptionNames, refuseUnknown } from "../base/unknown-names.ts";
import type { SandboxMode } from "../tool/sandbox-mode.ts";
import type { ResourceLimits } from "./grant/limits.ts";
import {
  allow,
  deny,
  NO_ORIGINS,
  type PolicyDecision,
  type PolicyExplanation,
  type PolicyRequest,
  type PolicySubject,
  type RuntimePolicy,
} from "./policy.ts";

const NAMES: OptionNames<DefaultPolicyOptions> = { rules: true, default: true };
const RULE_NAMES: OptionNames<DefaultRule> = { allowed: true, sandbox: true, limits: true };

/** What {@link DefaultPolicy} decides about a tool. */
export interface DefaultRule {
  /** Whether calls may run. */
  readonly allowed: boolean;
  /** Where they run. Default: `"host"`. */
  readonly sandbox?: SandboxMode;
  /** Default: those of the sandbox. */
  readonly limits?: ResourceLimits;
}

/** The options of {@link DefaultPolicy}. */
export interface DefaultPolicyOptions {
  /** The rules, by the name of their tool. Default: none. */
  readonly rules?: Readonly<Record<string, DefaultRule>>;
  /** The rule for every other tool. Default: its calls are denied. */
  readonly default?: DefaultRule;
}

/** Allows or denies each tool by its name, with no conditions and no capabilities. `RulePolicy` has both. */
export class DefaultPolicy implements RuntimePolicy {
  readonly #decisions: ReadonlyMap<string, PolicyDecision>;
  readonly #default: PolicyDecision;

  /** @throws {TypeError} if an option is unknown, or a rule's sandbox or limit is unknown or invalid. */
  constructor(options: DefaultPolicyOptions = {}) {
    refuseUnknown(options, NAMES, "a DefaultPolicy");
    const { rules = {}, default: other = { allowed: false } } = options;
    const decided = Object.entries(rules).map(([tool, rule]) => [tool, decisionOf(rule, tool)] as const);
    this.#decisions = new Map(decided);
    this.#default = decisionOf(other, "default");
  }

  check({ tool }: PolicyRequest): PolicyDecision {
    return this.#decisions.get(tool.name) ?? this.#default;
  }

  mayAllow({ name }: PolicySubject): boolean {
    return (this.#decisions.get(name) ?? this.#default).decision !== "deny";
  }

  explain(request: PolicyRequest): PolicyExplanation {
    const decision = this.check(request);
    const isNamed = this.#decisions.has(request.tool.name);
    const name = isNamed ? request.tool.name : "default";
    const why = isNamed ? "the rule names the tool" : "no rule names the tool";
    const rules = [{ name, effect: decision.decision, matched: "yes", why }] as const;
    if (decision.decision !== "allow") return { decision, rules, ...NO_ORIGINS };
    const limits = Object.fromEntries(Object.keys(decision.grant.limits).map((limit) => [limit, name]));
    return { decision, rules, ...NO_ORIGINS, sandbox: name, limits };
  }
}

function decisionOf(given: DefaultRule, rule: string): PolicyDecision {
  refuseUnknown(given, RULE_NAMES, `the rule '${rule}'`);
  const { allowed, sandbox = "host", limits = {} } = given;
  // A rule of another type, such as the string "false", must not allow anything.
  if (typeof allowed !== "boolean") throw new TypeError(`'allowed' of the rule '${rule}' must be a boolean`);
  const grant = allow({ sandbox, limits });
  return allowed ? grant : deny(`the rule '${rule}' does not allow it`);
}
