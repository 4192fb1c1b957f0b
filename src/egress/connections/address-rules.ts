import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

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
