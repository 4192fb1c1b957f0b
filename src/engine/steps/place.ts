import type { ResourceLimits } from "../../policy/grant/limits.ts";
import type { ExecutionGrant } from "../../policy/policy.ts";
import type { Sandbox } from "../../sandboxes/contract/sandbox.ts";

/** Where a grant lets a tool run, and the limits that will hold there: the sandbox's own, and the grant's over them. */
export interface Placement {
  readonly grant: ExecutionGrant;
  readonly sandbox: Sandbox;
  readonly limits: ResourceLimits;
}
