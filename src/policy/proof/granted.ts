import { isOriginTemplate, type OriginTemplate, type RuleCapabilities } from "../grant/grant-template.ts";
import { isWithinOrigin, type NetGrant, originOf, parseOrigin } from "../grant/net-grant.ts";
import { compileNamePattern } from "../match/name-pattern.ts";
import type { CapabilitySelection } from "./invariant.ts";

/**
 * Whether capabilities of a grant, or the most that those of a rule can become, have all that a selection names.
 *
 * Proofs depend on this: if the capabilities that several rules have in common are selected, those of each rule are.
 */
export function hasSelected(granted: RuleCapabilities = {}, selection: CapabilitySelection = {}): boolean {
  return Object.keys(selection).every((name) =>
    hasOne(name as keyof CapabilitySelection, granted, selection),
  );
}

function hasOne(
  name: keyof CapabilitySelection,
  granted: RuleCapabilities,
  selection: CapabilitySelection,
): boolean {
  const capability = granted[name];
  if (capability === undefined || capability === false) return false;
  if (Array.isArray(capability) && capability.length === 0) return false;
  const selected = selection[name];
  if (selected === "any" || selected === undefined) return true;
  if (selected === "write") return granted.fs?.some(({ write }) => write === true) ?? false;
  if ("outside" in selected) return hasOriginOutside(granted.net, selected.outside);
  if (name !== "tools") return selected.some((item) => (capability as readonly string[]).includes(item));
  const patterns = (granted.tools ?? []).map(compileNamePattern);
  return selected.some((tool) => patterns.some(({ matches }) => matches(tool)));
}

function hasOriginOutside(
  net: readonly (NetGrant | OriginTemplate)[] = [],
  outside: readonly string[],
): boolean {
  const bounds = outside.map(parseOrigin);
  const origins = net.flatMap((grant) => (isOriginTemplate(grant) ? grant.within : originOf(grant)));
  return origins.some((origin) => {
    const granted = parseOrigin(origin);
    return !bounds.some((bound) => isWithinOrigin(granted, bound));
  });
}
