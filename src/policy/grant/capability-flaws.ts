import type { Flaw } from "../../config/shape.ts";
import { checkCapabilities } from "./capabilities.ts";
import { isOriginTemplate, mostOf, type OriginTemplate, type RuleCapabilities } from "./grant-template.ts";
import { checkNetGrant, type NetGrant } from "./net-grant.ts";

/** Finds flaws that the shape of capabilities does not cover, each at the value that has it. */
export function capabilityFlaws(path: readonly string[], capabilities: RuleCapabilities = {}): Flaw[] {
  const { net = [], ...others } = capabilities;
  return [
    ...net.flatMap((grant, index) => netFlaws([...path, "net", String(index)], grant)),
    ...Object.entries(mostOf(others)).flatMap(([name, value]) =>
      flawsOf([...path, name], () => checkCapabilities({ [name]: value })),
    ),
  ];
}

function netFlaws(path: readonly string[], grant: NetGrant | OriginTemplate): Flaw[] {
  if (typeof grant === "string") return flawsOf(path, () => checkNetGrant(grant));
  if (isOriginTemplate(grant)) {
    return grant.within.flatMap((origin, index) => netFlaws([...path, "within", String(index)], origin));
  }
  const { origin, addresses = [] } = grant;
  const originFlaws = flawsOf([...path, "origin"], () => checkNetGrant(origin));
  if (originFlaws.length > 0) return originFlaws;
  return addresses.flatMap((range, index) =>
    flawsOf([...path, "addresses", String(index)], () => checkNetGrant({ origin, addresses: [range] })),
  );
}

function flawsOf(path: readonly string[], check: () => unknown): Flaw[] {
  try {
    check();
    return [];
  } catch (error) {
    return [{ path, at: "value", message: (error as Error).message }];
  }
}
