import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { copyPlain } from "../../src/json/value.ts";
import { isDeeplyFrozen } from "./deeply-frozen.ts";

const plainTree = fc.letrec((tree) => ({
  node: fc.oneof(
    { depthSize: "small" },
    fc.string({ unit: "binary", maxLength: 80 }),
    fc.double(),
    fc.integer(),
    fc.constantFrom(null, true, false, undefined, -0),
    fc.array(tree("node"), { maxLength: 5 }),
    fc.dictionary(fc.string({ unit: "binary", maxLength: 5 }), tree("node"), {
      maxKeys: 5,
      noNullPrototype: true,
    }),
  ),
})).node;

/** Values of all kinds: dates, maps, boxed numbers, bigints, sparse arrays, objects without a prototype. */
const anything = fc.anything({
  withBigInt: true,
  withBoxedValues: true,
  withDate: true,
  withMap: true,
  withNullPrototype: true,
  withObjectString: true,
  withSparseArray: true,
  withTypedArray: true,
});

describe("a plain copy", () => {
  test("equals the value after a JSON round trip, is frozen and has the length of its text", () => {
    fc.assert(
      fc.property(fc.oneof(plainTree, anything), (value) => {
        const copy = copyPlain(value);
        if (copy === undefined) return;
        const text = JSON.stringify(value);
        expect(copy.value).toStrictEqual(JSON.parse(text));
        expect(copy.bytes).toBe(Buffer.byteLength(text));
        expect(isDeeplyFrozen(copy.value)).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  test("is made of a plain tree", () => {
    const value = { text: 'a "quoted" \\ ☃', list: [1, -2.5, [], {}, null], no: undefined, yes: true };
    const text = JSON.stringify(value);
    expect(copyPlain(value)).toStrictEqual({ value: JSON.parse(text), bytes: Buffer.byteLength(text) });
  });

  test("shares nothing with the value", () => {
    const value = { list: [{ a: 1 }] };
    const copy = copyPlain(value);
    value.list[0] = { a: 2 };
    value.list.push({ a: 3 });
    expect(copy?.value).toEqual({ list: [{ a: 1 }] });
  });

  test("omits symbols and inherited properties", () => {
    const value = Object.assign(Object.create(Object.prototype), { a: 1, [Symbol("s")]: { secret: true } });
    expect(Reflect.ownKeys(copyPlain(value)?.value as object)).toEqual(["a"]);
  });

  test("reads each member once", () => {
    let reads = 0;
    const value = {
      get a() {
        return ++reads;
      },
    };
    expect(copyPlain(value)?.value).toEqual({ a: 1 });
  });

  test("has the right length if a getter copies another value", () => {
    const value = {
      get a() {
        return copyPlain(["much", "longer", "than", "one"])?.bytes;
      },
    };
    expect(copyPlain(value)).toEqual({ value: { a: 30 }, bytes: 8 });
  });

  test.each<[string, unknown]>([
    ["a toJSON method", { a: { toJSON: () => 1 } }],
    ["a class with a toJSON method", { at: new Date(0) }],
    [
      "a class",
      new (class Point {
        x = 1;
      })(),
    ],
    ["a subclass of Array", new (class List extends Array {})()],
    ["no prototype", Object.create(null)],
    ["functions", { f: () => 1 }],
    ["big integers", [1n]],
    ["symbols", [Symbol("s")]],
    [
      "a cycle",
      (() => {
        const value: unknown[] = [];
        value.push(value);
        return value;
      })(),
    ],
    ["a member named __proto__", JSON.parse('{"__proto__":{}}')],
    ["a huge sparse array", new Array(2 ** 32 - 1)],
    ["too many items", "x".repeat(100_000).split("")],
  ])("is not made of a value with %s", (_case, value) => {
    expect(copyPlain(value)).toBeUndefined();
  });

  test("is not made of an object graph that expands exponentially", () => {
    let bomb: unknown = [1];
    for (let i = 0; i < 60; i++) bomb = [bomb, bomb];
    expect(copyPlain(bomb)).toBeUndefined();
  });

  test("is not made if Object.prototype is polluted", () => {
    const polluted = Object.prototype as { shared?: unknown };
    polluted.shared = 1;
    try {
      expect(copyPlain({ a: 1 })).toBeUndefined();
    } finally {
      delete polluted.shared;
    }
  });

  test("is not made if Object.prototype has a toJSON method", () => {
    const polluted = Object.prototype as { toJSON?: unknown };
    polluted.toJSON = () => "polluted";
    try {
      expect(copyPlain({ a: 1 })).toBeUndefined();
      expect(copyPlain([1])).toBeUndefined();
    } finally {
      delete polluted.toJSON;
    }
  });
});
