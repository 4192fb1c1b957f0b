import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

/** A range of addresses: its first address and the length of its prefix. */
type Range = readonly [ipaddr.IPv4 | ipaddr.IPv6, number];

/** The range that IANA assigns global unicast addresses from. ipaddr.js excludes the special ranges in it. */
const GLOBAL_UNICAST: Range = ipaddr.parseCIDR("2000::/3");

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
  return address.kind() === "ipv4" || isWithin(address, GLOBAL_UNICAST);
}

function isWithin(address: ipaddr.IPv4 | ipaddr.IPv6, [first, prefix]: Range): boolean {
  return address.kind() === first.kind() && address.match(first, prefix);
}
