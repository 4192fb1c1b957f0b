import { type Capabilities, commonCapabilities } from "../../policy/grant/capabilities.ts";
import { checkGrant, type ExecutionGrant } from "../../policy/grant/execution-grant.ts";
import { type ResourceLimits, strictestLimits } from "../../policy/grant/limits.ts";
import type { SandboxMode } from "../../tool/sandbox-mode.ts";

/**
 * Limits, capabilities and sandboxes that a call may not exceed, whatever the policy grants: an executor uses what its client
 * granted. Both must have passed `checkLimits` and `checkCapabilities`.
 */
export interface UpperBound {
  /** All of them are required: the call is refused if one cannot be enforced. */
  readonly limits: ResourceLimits;
  readonly capabilities: Capabilities;
  /** The sandboxes in which the call may run. Default: any. */
  readonly sandboxes?: readonly SandboxMode[];
}

/**
 * Returns the grant with the first sandbox that both the policy and the bound accept; `undefined` if there is none.
 *
 * @param accepted The sandboxes that the policy accepts, best first. Default: that of the grant.
 */
export function boundSandbox(
  granted: ExecutionGrant,
  { sandboxes }: UpperBound,
  accepted: readonly SandboxMode[] = [granted.sandbox],
): ExecutionGrant | undefined {
  const sandbox =
    sandboxes === undefined ? granted.sandbox : accepted.find((mode) => sandboxes.includes(mode));
  if (sandbox === granted.sandbox) return granted;
  return sandbox && checkGrant({ ...granted, sandbox });
}

/** Narrows a checked grant to an upper bound: the lower limits, and the capabilities that both give. Frozen. */
export function boundGrant(granted: ExecutionGrant, { limits, capabilities }: UpperBound): ExecutionGrant {
  const { sandbox, isolation } = granted;
  return Object.freeze({
    sandbox,
    ...(isolation && { isolation }),
    limits: Object.freeze(strictestLimits(granted.limits, limits)),
    capabilities: Object.freeze(commonCapabilities(capabilities, granted.capabilities)),
  });
}

/** The limits to enforce under an upper bound, which never replaces a stricter default. Frozen. */
export function boundLimits(own: ResourceLimits, { limits }: UpperBound): ResourceLimits {
  return Object.freeze(strictestLimits(own, limits));
}
