import fc from "fast-check";
import { expect, test } from "vitest";
import { copyJson } from "../../src/json/copy.ts";
import { ARGUMENT_BOUNDS } from "../../src/json/refusal.ts";

test("refuses values beyond the bounds", () => {
  const { length, values, members } = ARGUMENT_BOUNDS;
  expect(() => copyJson(["x".repeat(length), "x"])).toThrow(`more than ${length} characters`);
  expect(() => copyJson(new Array(values))).toThrow(/type undefined/);
  expect(() => copyJson(new Array(2 ** 32 - 1))).toThrow(`more than ${values} values`);
  expect(() => copyJson(Array.from({ length: values }, () => 0))).toThrow(`more than ${values} values`);
  const many = Object.fromEntries(Array.from({ length: members + 1 }, (_, i) => [`k${i}`, 0]));
  expect(() => copyJson(many)).toThrow(`more than ${members} members`);
});

test("turns minus zero into zero", () => {
  expect(Object.is((copyJson([-0]) as number[])[0], 0)).toBe(true);
});

test("returns a frozen copy with the same JSON text", () => {
  fc.assert(
    fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => {
      const text = JSON.stringify(value);
      fc.pre(!text.includes("__proto__"));
      const copy = copyJson(value);
      expect(JSON.stringify(copy)).toBe(text);
      expect(Object.isFrozen(copy)).toBe(true);
    }),
  );
});

test("reads each member only once", () => {
  let reads = 0;
  const shifty = {
    get path() {
      reads++;
      return reads === 1 ? "a" : "/etc/passwd";
    },
  };
  expect(copyJson(shifty)).toEqual({ path: "a" });
  expect(reads).toBe(1);
});

test.each<[string, unknown, RegExp]>([
  ["functions", { a: [() => 1] }, /^\/a\/0 is of type function/],
  ["symbols", { "x/y": Symbol("s") }, /^\/x~1y is of type symbol/],
  ["bigints", [1n], /^\/0 is of type bigint/],
  ["unpaired surrogates", { a: "\ud800" }, /^\/a has an unpaired surrogate/],
  ["unpaired surrogates in names", { a: { "\udc00": 1 } }, /^\/a has an unpaired surrogate/],
  ["infinite numbers", { n: Number.POSITIVE_INFINITY }, /^\/n is not a finite number/],
  ["dates and other objects with a class", { at: new Date(0) }, /^\/at is not a plain object/],
])("refuses %s and reports the path", (_case, value, message) => {
  expect(() => copyJson(value)).toThrow(message);
});
