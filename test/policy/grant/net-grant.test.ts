import fc from "fast-check";
import ipaddr from "ipaddr.js";
import { describe, expect, test } from "vitest";
import { checkNetGrant, isWithinOrigin, parseOrigin } from "../../../src/policy/grant/net-grant.ts";

describe("isWithinOrigin", () => {
  test.each([
    ["https://api.example.com", "https://api.example.com"],
    ["https://api.example.com:443", "https://api.example.com"],
    ["https://api.example.com", "https://*.example.com"],
    ["https://a.b.example.com", "https://*.example.com"],
    ["https://*.b.example.com", "https://*.example.com"],
    ["http://localhost:8080", "http://localhost:*"],
    ["http://[::1]:8080", "http://[::1]:*"],
    ["http://10.0.0.1", "http://*"],
  ])("the origin %s lies within %s", (inner, outer) => {
    expect(isWithinOrigin(parseOrigin(inner), parseOrigin(outer))).toBe(true);
  });

  test.each([
    ["http://api.example.com", "https://api.example.com"],
    ["https://api.example.com:8443", "https://api.example.com"],
    ["https://example.com", "https://*.example.com"],
    ["https://evilexample.com", "https://*.example.com"],
    ["https://api.example.com.evil.test", "https://*.example.com"],
    ["https://*", "https://*.example.com"],
    ["https://*.example.com", "https://api.example.com"],
    ["http://a.test:8080", "http://*"],
    ["http://a.test:*", "http://a.test"],
  ])("the origin %s does not lie within %s", (inner, outer) => {
    expect(isWithinOrigin(parseOrigin(inner), parseOrigin(outer))).toBe(false);
  });
});

describe("a range of addresses", () => {
  const grant = (range: unknown): unknown => ({ origin: "https://a.test", addresses: [range] });
  const isAccepted = (range: unknown): boolean => {
    try {
      checkNetGrant(grant(range));
      return true;
    } catch (error) {
      if (error instanceof TypeError) return false;
      throw error;
    }
  };

  test.each([
    "10.0.0.0/8",
    "0.0.0.0/0",
    "127.0.0.1/32",
    "::/0",
    "::1/128",
    "fd00::/8",
    "::ffff:10.0.0.0/104",
    "2001:db8:0:0:0:0:0:0/32",
  ])("the range of addresses %s is valid", (range) => {
    expect(checkNetGrant(grant(range))).toEqual(grant(range));
  });

  test.each<unknown>([
    "10.0.0.0/99",
    "10.0.0.0/33",
    "::/129",
    "999.0.0.1/8",
    "10.0.0/8",
    "010.0.0.0/8",
    "10.0.0.0",
    "10.0.0.0/",
    "10.0.0.0/-1",
    "10.0.0.0/8/8",
    ":/8",
    ":::/8",
    "1:2:3:4:5:6:7:8:9/64",
    "fe80::1%eth0/64",
    "10.0.0.0/8\n",
    "",
    8,
    null,
  ])("the range of addresses %j is rejected", (range) => {
    expect(() => checkNetGrant(grant(range))).toThrow(
      new TypeError(`capability 'net' must have CIDR ranges such as 10.0.0.0/8 as addresses, not '${range}'`),
    );
  });

  test("every range of addresses that is accepted can be parsed when connections are checked", () => {
    const address = fc.oneof(fc.ipV4(), fc.ipV6(), fc.ipV4Extended());
    fc.assert(
      fc.property(address, fc.integer({ min: 0, max: 200 }), (first, prefix) => {
        const range = `${first}/${prefix}`;
        fc.pre(isAccepted(range));
        expect(() => ipaddr.parseCIDR(range)).not.toThrow();
      }),
    );
    fc.assert(
      fc.property(fc.stringMatching(/^[0-9a-f:.]{0,20}\/[0-9]{1,3}$/), (range) => {
        if (isAccepted(range)) ipaddr.parseCIDR(range);
      }),
    );
  });
});
