import type { LookupAddress } from "node:dns";
import { lookup } from "node:dns/promises";
import { isIP, type LookupFunction } from "node:net";
import ipaddr from "ipaddr.js";
import { EgressError } from "./egress-error.ts";
import type { OriginRule } from "./net-rules.ts";

/** Resolves a host name to all its addresses. Rejects if there are no addresses. */
export type ResolveHost = (hostname: string) => Promise<readonly string[]>;

/** Uses the system's resolver: the hosts file, then DNS. */
export const systemResolve: ResolveHost = async (hostname) => {
  const answers = await lookup(hostname, { all: true });
  return answers.map(({ address }) => address);
};

/**
 * Returns the lookup for connections under a rule.
 *
 * @throws {EgressError} if the host is an address that may not be contacted: Node.js does not call the lookup for it.
 */
export function lookupFor({ origin, addresses }: OriginRule, resolve: ResolveHost): LookupFunction {
  const rules = new AddressRules(addresses);
  const { hostname } = new URL(origin);
  const literal = withoutBrackets(hostname);
  if (isIP(literal) !== 0) checkAddress(hostname, literal, rules);
  return checkedLookup(rules, resolve);
}

/** Returns the host of a URL as sockets take it: an IPv6 address without brackets. */
export function withoutBrackets(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, "");
}

/**
 * A lookup for `net.connect` that returns checked addresses only. Node.js connects to the addresses that its lookup
 * returns and does not resolve the name again, so only checked addresses are contacted. If one of several addresses
 * is denied, all are: the owner of the name chose it. Connections that open at the same time share one result, which
 * is not cached.
 */
function checkedLookup(rules: AddressRules, resolve: ResolveHost): LookupFunction {
  let pending: Promise<LookupAddress[]> | undefined;
  return (hostname, options, callback) => {
    pending ??= resolveChecked(hostname, rules, resolve).finally(() => {
      pending = undefined;
    });
    pending.then(
      (addresses) => {
        const [first] = addresses;
        if (options.all) callback(null, addresses);
        else callback(null, first?.address ?? "", first?.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, []),
    );
  };
}

async function resolveChecked(
  hostname: string,
  rules: AddressRules,
  resolve: ResolveHost,
): Promise<LookupAddress[]> {
  let addresses: readonly string[];
  try {
    addresses = await resolve(hostname);
  } catch (error) {
    throw new EgressError("name_not_resolved", `'${hostname}' cannot be resolved`, undefined, error);
  }
  if (addresses.length === 0) throw new EgressError("name_not_resolved", `'${hostname}' has no address`);
  for (const address of addresses) checkAddress(hostname, address, rules);
  return addresses.map((address) => ({ address, family: isIP(address) }));
}

/** @throws {EgressError} if a host's address may not be contacted. */
function checkAddress(host: string, address: string, rules: AddressRules): void {
  if (rules.allows(address)) return;
  throw new EgressError(
    "address_denied",
    `'${host}' has the address ${JSON.stringify(address)}, which is not public: the grant must name its range ` +
      `(net: [{ origin, addresses: [CIDR] }])`,
  );
}

/** A range of addresses: its first address and the length of its prefix. */
type Range = readonly [ipaddr.IPv4 | ipaddr.IPv6, number];

/** The range that IANA assigns global unicast addresses from. ipaddr.js excludes the special ranges in it. */
const GLOBAL_UNICAST: Range = ipaddr.parseCIDR("2000::/3");

/**
 * Ranges that look public, but lead to services of a cloud provider inside its network. These may trust any machine that
 * can reach them.
 */
const PROVIDER_INTERNAL: readonly Range[] = [
  // Azure's platform services ("wire server"), which give machines their certificates and secrets.
  "168.63.129.16/32",
  // IBM Cloud: infrastructure services and service endpoints of the private network.
  "161.26.0.0/16",
  "166.8.0.0/14",
  // Google Cloud: Google's APIs for virtual networks (restricted.googleapis.com, private.googleapis.com).
  "199.36.153.4/30",
  "199.36.153.8/30",
  "2600:2d00:2:1000::/64",
  "2600:2d00:2:2000::/64",
].map((range) => ipaddr.parseCIDR(range));

/**
 * Which addresses may be contacted: public ones, and those in the given ranges. Addresses that embed another address
 * (mapped, compatible, 6to4, Teredo, NAT64) are never public, because a gateway decides where they lead.
 */
export class AddressRules {
  readonly #ranges: readonly Range[];

  /**
   * @param ranges CIDR ranges. An IPv4 range does not match IPv6 addresses, not even mapped ones.
   * @throws {Error} if a range is invalid.
   */
  constructor(ranges: readonly string[]) {
    this.#ranges = ranges.map((range) => ipaddr.parseCIDR(range));
  }

  /** Whether an address that a resolver returned may be contacted; `false` if it is not a valid address. */
  allows(text: string): boolean {
    if (isIP(text) === 0) return false;
    const address = ipaddr.parse(text);
    return isPublic(address) || this.#ranges.some((range) => isWithin(address, range));
  }
}

function isPublic(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  if (address.range() !== "unicast") return false;
  if (PROVIDER_INTERNAL.some((range) => isWithin(address, range))) return false;
  return address.kind() === "ipv4" || isWithin(address, GLOBAL_UNICAST);
}

function isWithin(address: ipaddr.IPv4 | ipaddr.IPv6, [first, prefix]: Range): boolean {
  return address.kind() === first.kind() && address.match(first, prefix);
}
