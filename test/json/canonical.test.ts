import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CanonicalJson, canonicalText } from "../../src/json/canonical.ts";
import { copyJson } from "../../src/json/copy.ts";
import { parseJson } from "../../src/json/parse.ts";
import type { JsonValue } from "../../src/json/value.ts";

/** A direct implementation of RFC 8785, section 3.2.3. */
function memberByMember(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(memberByMember).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([key, each]) => `${JSON.stringify(key)}:${memberByMember(each)}`).join(",")}}`;
}

describe("the canonical form", () => {
  test("is the one in RFC 8785, section 3.2.3", () => {
    const text = String.raw`{
      "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
      "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
      "literals": [null, true, false]
    }`;
    expect(canonicalText(JSON.parse(text))).toBe(
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],' +
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
    );
  });

  test("sorts members by UTF-16 code units, numeric names too", () => {
    const names = ["€", "\r", "\ufb33", "1", "\ud83d\ude00", "\u0080", "ö", "10", "9"];
    const text = canonicalText(Object.fromEntries(names.map((name) => [name, 0])));
    expect(Object.keys(JSON.parse(text.replaceAll(/"(\d+)"/g, '"_$1"')))).toEqual([
      "\r",
      "_1",
      "_10",
      "_9",
      "\u0080",
      "ö",
      "€",
      "\ud83d\ude00",
      "\ufb33",
    ]);
  });

  test("keeps members with any name, at any depth", () => {
    const member = fc.oneof(fc.string(), fc.constantFrom("__proto__", "constructor", "0", "10", "-1", ""));
    const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
      tree: fc.oneof(
        { maxDepth: 4 },
        fc.oneof(
          fc.string(),
          fc.double({ noNaN: true, noDefaultInfinity: true }),
          fc.boolean(),
          fc.constant(null),
        ),
        fc.array(tie("tree"), { maxLength: 4 }),
        fc
          .array(fc.tuple(member, tie("tree")), { maxLength: 20 })
          .map((members) => Object.fromEntries(members)),
      ),
    }));
    fc.assert(
      fc.property(tree, (value) => {
        const text = canonicalText(value as JsonValue);
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
        expect(text).toBe(memberByMember(value));
      }),
      { numRuns: 500 },
    );
  });

  test("does not depend on the order of the members", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (members) => {
        fc.pre(!JSON.stringify(members).includes("__proto__"));
        const reversed = Object.fromEntries(Object.entries(members).reverse());
        expect(canonicalText(copyJson(reversed))).toBe(canonicalText(copyJson(members)));
      }),
    );
  });

  test("is stable: parsing and serialising it gives the same text", () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => {
        const parsed = parseJson(JSON.stringify(value));
        fc.pre("value" in parsed);
        const once = canonicalText((parsed as { value: JsonValue }).value);
        const again = parseJson(once);
        expect(again).toEqual(parsed);
        expect(canonicalText((again as { value: JsonValue }).value)).toBe(once);
      }),
      { numRuns: 500 },
    );
  });

  test("has the SHA-256 of its bytes as digest", () => {
    const canonical = new CanonicalJson({ b: "é", a: 1 });
    const expected = createHash("sha256").update('{"a":1,"b":"é"}', "utf8").digest("hex");
    expect(canonical.digest).toBe(expected);
    expect(JSON.stringify({ canonical })).toBe(`{"canonical":{"digest":"${expected}"}}`);
  });

  test("is computed once, on first use", () => {
    let reads = 0;
    const ownKeys = (target: object): (string | symbol)[] => {
      reads++;
      return Reflect.ownKeys(target);
    };
    const value = new Proxy({ a: 1 }, { ownKeys });
    const canonical = new CanonicalJson(value as JsonValue);
    expect(reads).toBe(0);
    const { text } = canonical;
    const before = reads;
    expect([canonical.text, canonical.digest.length]).toEqual([text, 64]);
    expect(reads).toBe(before);
  });
});
