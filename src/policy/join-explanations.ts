import type { PolicyDecision } from "./decision.ts";
import { type GrantOrigins, NO_ORIGINS, type PolicyExplanation } from "./explanation.ts";
import { CAPABILITY_NAMES, type CapabilityName } from "./grant/capabilities.ts";
import type { ExecutionGrant } from "./grant/execution-grant.ts";
import { LIMIT_NAMES } from "./grant/limits.ts";

/** Stands for the rules of a policy that does not explain where its grant comes from. */
const UNNAMED = "a policy in code";

/**
 * Explains the decision to which those of several policies were joined.
 *
 * @param decision The strictest of their decisions.
 */
export function joinExplanations(
  decision: PolicyDecision,
  explanations: readonly PolicyExplanation[],
): PolicyExplanation {
  const rules = explanations.flatMap((each) => each.rules);
  return { decision, rules, ...joinOrigins(decision, explanations) };
}

function joinOrigins(decision: PolicyDecision, explanations: readonly PolicyExplanation[]): GrantOrigins {
  if (decision.decision === "deny" || decision.grant === undefined) return NO_ORIGINS;
  const { sandbox, limits } = decision.grant;
  const limitOrigins = LIMIT_NAMES.flatMap((name) => {
    if (limits[name] === undefined) return [];
    const origin = explanations.find((each) => grantOf(each)?.limits[name] === limits[name]);
    return [[name, origin?.limits[name] ?? UNNAMED]];
  });
  const from = explanations.find((each) => grantOf(each)?.sandbox === sandbox);
  const capabilities = decision.grant.capabilities;
  const granted = CAPABILITY_NAMES.filter((name) => capabilities[name] !== undefined);
  const withheld = CAPABILITY_NAMES.filter(
    (name) => capabilities[name] === undefined && explanations.some((each) => mentions(each, name)),
  );
  return {
    sandbox: from?.sandbox ?? UNNAMED,
    limits: Object.fromEntries(limitOrigins),
    capabilities: Object.fromEntries(
      granted.map((name) => [name, distinct(explanations.flatMap((each) => granting(each, name)))]),
    ),
    withheld: Object.fromEntries(
      withheld.map((name) => [name, distinct(explanations.flatMap((each) => withholding(each, name)))]),
    ),
  };
}

function mentions({ capabilities, withheld }: GrantOrigins, name: CapabilityName): boolean {
  return capabilities[name] !== undefined || withheld[name] !== undefined;
}

/** The rules of a policy that grant a capability. */
function granting(explanation: PolicyExplanation, name: CapabilityName): readonly string[] {
  if (grantOf(explanation)?.capabilities[name] === undefined) return [];
  return explanation.capabilities[name] ?? [UNNAMED];
}

/** The rules of a policy because of which a call does not get a capability. */
function withholding(explanation: PolicyExplanation, name: CapabilityName): readonly string[] {
  if (grantOf(explanation)?.capabilities[name] !== undefined) return [];
  if (explanation.withheld[name] !== undefined) return explanation.withheld[name];
  return explanation.decision.rules ?? [UNNAMED];
}

function grantOf({ decision }: PolicyExplanation): ExecutionGrant | undefined {
  return decision.decision === "deny" ? undefined : decision.grant;
}

function distinct(names: readonly string[]): readonly string[] {
  return [...new Set(names)];
}
