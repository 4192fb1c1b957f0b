import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { AddressRules } from "../../src/egress/checked-lookup.ts";

const rules = new AddressRules([]);

describe("an address that is not public", () => {
  test.each([
    ["loopback", "127.0.0.1", "127.255.255.255", "::1"],
    ["unspecified", "0.0.0.0", "0.1.2.3", "::"],
    ["private", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.0.1"],
    ["link-local, such as cloud metadata services", "169.254.169.254", "fe80::1", "fe80::1%eth0"],
    ["of a carrier's NAT", "100.64.0.1", "100.127.255.255"],
    ["unique local", "fc00::1", "fd00:ec2::254"],
    ["site-local", "fec0::1"],
    ["multicast or broadcast", "224.0.0.1", "239.255.255.255", "255.255.255.255", "ff02::1"],
    ["reserved", "192.0.0.1", "198.18.0.1", "198.19.255.255", "240.0.0.1", "2001::1", "100::1", "5f00::1"],
    ["for documentation", "192.0.2.1", "198.51.100.1", "203.0.113.1", "2001:db8::1", "3fff::1"],
    ["of an anycast relay", "192.88.99.1"],
    ["IPv4 mapped into IPv6", "::ffff:8.8.8.8", "::ffff:7f00:1"],
    ["IPv4-compatible", "::8.8.8.8", "::ac10:1"],
    ["6to4", "2002:808:808::"],
    ["Teredo", "2001:0:808:808::"],
    ["NAT64", "64:ff9b::808:808", "64:ff9b:1::808:808"],
    ["translated", "::ffff:0:8.8.8.8"],
    [
      "of a cloud provider's internal services",
      "168.63.129.16",
      "161.26.0.10",
      "166.8.0.1",
      "166.11.255.255",
    ],
    ["of Google's APIs inside virtual networks", "199.36.153.4", "199.36.153.11", "2600:2d00:2:2000::1"],
    ["not assigned by IANA", "4000::1", "::2:3"],
    ["not a valid address", "", "localhost", "127.1", "0x7f000001", "8.8.8.8 ", "[2606:4700::1]"],
  ])("an address that is not public is refused: %s", (_kind, ...addresses) => {
    for (const address of addresses) expect([address, rules.allows(address)]).toEqual([address, false]);
  });

  test("a provider's internal address is allowed if its range is given", () => {
    expect(new AddressRules(["168.63.129.16/32"]).allows("168.63.129.16")).toBe(true);
  });

  test("a private address is allowed if its range is given, only for its own family", () => {
    const named = new AddressRules(["10.1.0.0/16", "fd00::/8"]);
    expect(named.allows("10.1.2.3")).toBe(true);
    expect(named.allows("fd12::1")).toBe(true);
    expect(named.allows("10.2.0.1")).toBe(false);
    expect(named.allows("::ffff:10.1.2.3")).toBe(false);
  });
});

test.each([
  "8.8.8.8",
  "100.63.255.255",
  "100.128.0.1",
  "172.15.255.255",
  "198.17.255.255",
  "168.63.129.15",
  "168.63.129.17",
  "166.7.255.255",
  "199.36.153.12",
  "2606:4700::1111",
])("the public address %s is allowed", (address) => expect(rules.allows(address)).toBe(true));

test("no IPv6 address that embeds a private IPv4 address is allowed", () => {
  const prefixes = ["::", "::ffff:", "::ffff:0:", "64:ff9b::", "64:ff9b:1::"];
  const octet = fc.integer({ min: 0, max: 255 });
  fc.assert(
    fc.property(fc.constantFrom(...prefixes), octet, octet, octet, (prefix, b, c, d) => {
      expect(rules.allows(`${prefix}10.${b}.${c}.${d}`)).toBe(false);
    }),
  );
});
