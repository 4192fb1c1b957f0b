import { type Capabilities, commonCapabilities } from "../../policy/grant/capabilities.ts";
import { type ResourceLimits, strictestLimits } from "../../policy/grant/limits.ts";
import type { ExecutionGrant } from "../../policy/policy.ts";
import type { Sandbox } from "../../sandboxes/contract/sandbox.ts";

/**
 * The most that a call may have, whatever the policy grants: what somebody else granted who asks for the call,
 * such as the caller of an executor. Checked, as by `checkLimits` and `checkCapabilities`.
 */
export interface UpperBound {
  /** Every one is required: one that cannot be enforced refuses the call. */
  readonly limits: ResourceLimits;
  readonly capabilities: Capabilities;
}

/** The grant that gives what both give, under the restrictions of both. Both were checked. Frozen. */
export function boundGrant(granted: ExecutionGrant, { limits, capabilities }: UpperBound): ExecutionGrant {
  return Object.freeze({
    sandbox: granted.sandbox,
    limits: Object.freeze(strictestLimits(granted.limits, limits)),
    capabilities: Object.freeze(commonCapabilities(capabilities, granted.capabilities)),
  });
}

/** The limits that will hold: a bound never stands in for a sandbox's default that is stricter. */
export function boundLimits(
  granted: ExecutionGrant,
  { limits }: UpperBound,
  sandbox: Sandbox,
): ResourceLimits {
  return Object.freeze(strictestLimits({ ...sandbox.defaults, ...granted.limits }, limits));
}
