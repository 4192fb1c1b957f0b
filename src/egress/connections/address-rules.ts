import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

/** A range of addresses: its first address and the length of its prefix. */
type Range = readonly [ipaddr.IPv4 | ipaddr.IPv6, number];

/** All that IANA has given out for the public internet; what lies in it and is not public, ipaddr.js knows. */
const GLOBAL_UNICAST: Range = ipaddr.parseCIDR("2000::/3");

/**
 * Which addresses may be contacted: those of the public internet, and what lies in the ranges that are named.
 * Addresses that carry another one (mapped, compatible, 6to4, Teredo, NAT64) are never public: where they lead
 * is decided elsewhere.
 */
export class AddressRules {
  readonly #ranges: readonly Range[];

  /**
   * @param ranges CIDR ranges. One of IPv4 holds no IPv6 address, however it is written.
   * @throws {Error} when one of them is none.
   */
  constructor(ranges: readonly string[]) {
    this.#ranges = ranges.map((range) => ipaddr.parseCIDR(range));
  }

  /** Whether an address, as a resolver writes it, may be contacted. What is no address may not. */
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
