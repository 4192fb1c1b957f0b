import { describe, expect, test } from "vitest";
import { isWithinOrigin, parseOrigin } from "../../src/policy/net-grant.ts";

describe("an origin lies within", () => {
  test.each([
    ["https://api.example.com", "https://api.example.com"],
    ["https://api.example.com:443", "https://api.example.com"],
    ["https://api.example.com", "https://*.example.com"],
    ["https://a.b.example.com", "https://*.example.com"],
    ["https://*.b.example.com", "https://*.example.com"],
    ["http://localhost:8080", "http://localhost:*"],
    ["http://[::1]:8080", "http://[::1]:*"],
    ["http://10.0.0.1", "http://*"],
  ])("%s in %s", (inner, outer) => {
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
  ])("%s not in %s", (inner, outer) => {
    expect(isWithinOrigin(parseOrigin(inner), parseOrigin(outer))).toBe(false);
  });
});
