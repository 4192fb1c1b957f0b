import { isSandboxMode, type SandboxMode } from "../../tool/sandbox-mode.ts";
import { type Capabilities, checkCapabilities } from "./capabilities.ts";
import { checkLimits, type ResourceLimits } from "./limits.ts";

/** The sandbox, limits and capabilities for a call. Frozen. */
export interface ExecutionGrant {
  readonly sandbox: SandboxMode;
  readonly limits: ResourceLimits;
  readonly capabilities: Capabilities;
}

/** The options of {@link allow}. */
export interface GrantOptions {
  /** The sandbox to run the call in. The tool must have an implementation for it. */
  readonly sandbox: SandboxMode;
  /** Limits to enforce. Default: those of the sandbox. */
  readonly limits?: ResourceLimits;
  /** Default: none. */
  readonly capabilities?: Capabilities;
}

/** Grants that this module checked and froze, and that therefore need no further check. */
const checkedGrants = new WeakSet<object>();

/**
 * Checks a grant, and returns a frozen copy. A grant that this function returned earlier is returned
 * unchanged.
 *
 * @throws {TypeError} if the sandbox, a limit or a capability is unknown or invalid.
 */
export function checkGrant(grant: GrantOptions): ExecutionGrant {
  if (checkedGrants.has(grant)) return grant as ExecutionGrant;
  const { sandbox, limits = {}, capabilities = {}, ...unknown } = grant;
  if (!isSandboxMode(sandbox)) throw new TypeError("a grant must have a valid sandbox mode as 'sandbox'");
  for (const key of Object.keys(unknown)) throw new TypeError(`unknown member '${key}' in a grant`);
  const checked = Object.freeze({
    sandbox,
    limits: checkLimits(limits),
    capabilities: checkCapabilities(capabilities),
  });
  checkedGrants.add(checked);
  return checked;
}
