import { describe, expect, test } from "vitest";
import { compileSchema } from "../../src/schema/compiled-schema.ts";

const accepts = (format: string, value: string | number): boolean =>
  compileSchema({ format }).validate(value) === undefined;

describe("a format", () => {
  test.each<[string, string, string]>([
    ["date", "2024-02-29", "2023-02-29"],
    ["date-time", "2026-11-21T02:38:00Z", "2026-11-21 02:38"],
    ["email", "me@example.org", "me"],
    ["uri", "https://example.org/a?b=%20#c", "/a"],
    ["uri-reference", "/a/b", "\\a"],
    ["url", "https://example.org", "urn:a:b"],
    ["uuid", "123e4567-e89b-12d3-a456-426614174000", "123e4567"],
    ["ipv4", "127.0.0.1", "127.0.0.256"],
    ["ipv6", "::1", "::g"],
    ["hostname", "example.org", "-a"],
    ["regex", "^a+$", "("],
    ["json-pointer", "/a~1b", "a"],
    ["duration", "P1D", "1D"],
  ])("%s is checked", (format, good, bad) => {
    expect([accepts(format, good), accepts(format, bad)]).toEqual([true, false]);
  });

  test.each([
    'https://example.org/a".txt',
    'https://exa"mple.org/',
    'https://example.org/?a="',
    "https://example.org/#<",
    "https://example.org/a b",
    "https://example.org/`",
    "https://example.org/{a}",
    "https://example.org/a\\b",
    "https://example.org/ä",
    "https://example.org/%2",
    "https://example.org/a|b",
    "https://example.org/^",
  ])("refuses a URI with a character that RFC 3986 does not have: %s", (text) => {
    expect(["uri", "url", "uri-reference"].map((format) => accepts(format, text))).toEqual([
      false,
      false,
      false,
    ]);
  });

  test("that is unknown is an annotation", () => {
    expect(accepts("currency", "x")).toBe(true);
  });

  test("does not apply to values of other types", () => {
    expect([accepts("date", 5), accepts("int32", 5), accepts("int32", 2 ** 31)]).toEqual([true, true, false]);
  });

  test("is not checked in a string that is too long", () => {
    expect(accepts("uri", `https://example.org/${"a".repeat(2_048)}`)).toBe(false);
    expect(accepts("byte", "QUJD".repeat(2_048))).toBe(true);
  });
});
