import fc from "fast-check";
import { expect, test } from "vitest";
import { lookUp, parsePointer } from "../../../src/json/pointer.ts";
import type { JsonValue } from "../../../src/json/value.ts";
import { numbersOf } from "../../../src/sessions/ledger/ledger.ts";

test("the numbers of a call are found by their pointers, those closest to the root first", () => {
  const input = { items: [{ price: 1 }, 2], "a/b": { "~": 3 }, text: "4", none: null, is: true, amount: 5 };
  expect([...numbersOf(input)]).toEqual([
    ["/amount", 5],
    ["/items/1", 2],
    ["/a~1b/~0", 3],
    ["/items/0/price", 1],
  ]);
  expect(numbersOf("text").size).toBe(0);
});

test("what is found is what the pointers lead to", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      for (const [pointer, found] of numbersOf(value as JsonValue)) {
        expect(lookUp(value as JsonValue, parsePointer(pointer))).toBe(found);
      }
    }),
  );
});

test("a large input keeps few numbers, and takes no time for the rest", () => {
  const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`n${index}`, index]));
  expect(numbersOf(many).size).toBe(16);
  expect(numbersOf({ list: new Array<number>(1_000_000).fill(1), amount: 5 }).get("/amount")).toBe(5);
  let deep: JsonValue = 1;
  for (let depth = 0; depth < 5_000; depth++) deep = { a: deep };
  expect(numbersOf(deep).size).toBe(0);
  expect(numbersOf({ [`${"x".repeat(200)}`]: 1 }).size).toBe(0);
});
