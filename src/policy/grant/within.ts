import { canonicalText } from "../../json/canonical.ts";
import type { JsonValue } from "../../json/value.ts";
import { commonCapabilities } from "./capabilities.ts";
import type { ExecutionGrant } from "./execution-grant.ts";
import { LIMIT_NAMES } from "./limits.ts";

/** Whether a checked grant gives at most what another one gives, in the same sandbox: see {@link permitsNoMore}. */
export function isWithinGrant(grant: ExecutionGrant, bound: ExecutionGrant): boolean {
  return grant === bound || (grant.sandbox === bound.sandbox && permitsNoMore(grant, bound));
}

/**
 * Whether the limits and capabilities of a checked grant give at most what those of another one give: the isolation that it
 * requires, no limit that is higher or missing, and no further capability. Capabilities that cannot be compared count as wider.
 */
export function permitsNoMore(
  grant: Omit<ExecutionGrant, "sandbox">,
  bound: Omit<ExecutionGrant, "sandbox">,
): boolean {
  if (bound.isolation !== undefined && grant.isolation !== bound.isolation) return false;
  for (const name of LIMIT_NAMES) {
    const most = bound.limits[name];
    if (most !== undefined && (grant.limits[name] ?? Number.POSITIVE_INFINITY) > most) return false;
  }
  const own = commonCapabilities(grant.capabilities, grant.capabilities);
  const common = commonCapabilities(bound.capabilities, grant.capabilities);
  return canonicalText(own as JsonValue) === canonicalText(common as JsonValue);
}
