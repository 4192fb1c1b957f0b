import type { DecisionChange } from "../compare-decisions.ts";
import type { PolicyDecision } from "../decision.ts";
import type { PolicyRequest } from "../policy.ts";

/** A call on which a candidate decides otherwise than the active policy. */
export interface PolicyDifference {
  readonly request: PolicyRequest;
  /** What was decided. */
  readonly active: PolicyDecision;
  /** What the candidate would have decided; absent if it failed. */
  readonly candidate?: PolicyDecision;
  /**
   * `wider`: the candidate permits what the active policy does not, or without a person. `narrower`: the active policy
   * does so. `other`: each does, or neither, such as with another question. `failed`: the candidate did not decide, and
   * as the active policy it would have denied the call.
   */
  readonly change: "wider" | "narrower" | "other" | "failed";
  /** What the change consists of, as `diffPolicies` counts it. None if the candidate failed. */
  readonly changes: readonly DecisionChange[];
  /** Why the candidate failed, such as the message of its error; absent if it did not. */
  readonly failure?: string;
}
