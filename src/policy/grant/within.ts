import { canonicalText } from "../../json/canonical.ts";
import type { JsonValue } from "../../json/value.ts";
import { commonCapabilities } from "./capabilities.ts";
import type { ExecutionGrant } from "./execution-grant.ts";
import { LIMIT_NAMES } from "./limits.ts";

/**
 * Whether a checked grant gives at most what another one gives: the same sandbox, with the isolation that it
 * requires, no limit that is higher or missing,
 * and no further capability. Grants that cannot be compared count as wider.
 */
export function isWithinGrant(grant: ExecutionGrant, bound: ExecutionGrant): boolean {
  if (grant === bound) return true;
  if (grant.sandbox !== bound.sandbox) return false;
  if (bound.isolation !== undefined && grant.isolation !== bound.isolation) return false;
  for (const name of LIMIT_NAMES) {
    const most = bound.limits[name];
    if (most !== undefined && (grant.limits[name] ?? Number.POSITIVE_INFINITY) > most) return false;
  }
  const own = commonCapabilities(grant.capabilities, grant.capabilities);
  const common = commonCapabilities(bound.capabilities, grant.capabilities);
  return canonicalText(own as JsonValue) === canonicalText(common as JsonValue);
}
