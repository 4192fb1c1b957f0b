import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { freezeJson, type JsonValue, JsonValueError, MAX_DEPTH } from "../../src/json/value.ts";
import { isDeeplyFrozen } from "./deeply-frozen.ts";

const parse = (text: string): JsonValue => JSON.parse(text) as JsonValue;

describe("freezeJson", () => {
  test("freezes a tree deeply and does not change it", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value);
        fc.pre(!text.includes("__proto__"));
        const frozen = freezeJson(parse(text));
        expect([JSON.stringify(frozen), isDeeplyFrozen(frozen)]).toEqual([text, true]);
      }),
    );
  });

  test.each([
    ["alone", "1e999"],
    ["alone and negative", "-1e999"],
    ["in an array", "[1, 2, 1e999]"],
    ["in an object", '{"a":{"b":-1e400}}'],
    ["written in digits", `[${"9".repeat(400)}]`],
  ])("refuses a number that overflowed, %s", (_case, text) => {
    expect(() => freezeJson(parse(text))).toThrow(
      new JsonValueError("a number that is too large for a double"),
    );
  });

  test.each(["1.7976931348623157e308", "5e-324", "[0, -0.5, 1e21]"])("accepts %s", (text) => {
    expect(freezeJson(parse(text))).toEqual(parse(text));
  });

  test("refuses a member named __proto__, and a tree that is too deep", () => {
    expect(() => freezeJson(parse('[{"__proto__":1}]'))).toThrow("a member named '__proto__' is not allowed");
    const nested = (depth: number): JsonValue => parse("[".repeat(depth) + "]".repeat(depth));
    expect(isDeeplyFrozen(freezeJson(nested(MAX_DEPTH)))).toBe(true);
    expect(() => freezeJson(nested(MAX_DEPTH + 1))).toThrow(`nested deeper than ${MAX_DEPTH} levels`);
  });
});
