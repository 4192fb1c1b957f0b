import type { PolicyDecision } from "./decision.ts";
import type { CapabilityName } from "./grant/capabilities.ts";
import type { LimitName } from "./grant/limits.ts";

/**
 * Why a policy decides on a call as it does. It is plain JSON, the same for equal policies and calls. Like the texts of
 * a decision, it is for operators. It repeats no argument in its texts; capabilities of the grant can have some.
 */
export interface PolicyExplanation extends GrantOrigins {
  /** What `check` returns for the same request. */
  readonly decision: PolicyDecision;
  /**
   * The rules that name the tool, in the order of the policy, whether they matched or not. Joined policies follow each
   * other in their order. A policy without rules has none.
   */
  readonly rules: readonly ExplainedRule[];
}

/** Whether a rule matches a call, and why. */
export interface ExplainedRule {
  readonly name: string;
  readonly effect: "allow" | "deny" | "ask";
  /** If it is `"unclear"`, a rule that denies or asks applies, and one that allows only restricts what others grant. */
  readonly matched: "yes" | "no" | "unclear";
  /** Such as `not met: /path (glob)`. */
  readonly why: string;
}

/** The names of the rules from which the parts of a grant come. `default` is the default of a policy of rules. */
export interface GrantOrigins {
  /** The rule whose order of preference led to the sandbox. Absent if the decision grants nothing. */
  readonly sandbox?: string;
  /** For each limit of the grant, the first rule that sets its value. */
  readonly limits: { readonly [Name in LimitName]?: string };
  /** For each capability of the grant, the rules that grant it, all of them. */
  readonly capabilities: { readonly [Name in CapabilityName]?: readonly string[] };
  /**
   * For each capability that some of the applied rules grant and the call does not get: the rules that do not grant it.
   * None if all of them do, but nothing in common.
   */
  readonly withheld: { readonly [Name in CapabilityName]?: readonly string[] };
}

/** The origins of a decision that grants nothing. */
export const NO_ORIGINS: GrantOrigins = Object.freeze({
  limits: Object.freeze({}),
  capabilities: Object.freeze({}),
  withheld: Object.freeze({}),
});
