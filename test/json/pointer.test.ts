import { expect, test } from "vitest";
import { lookUpAll } from "../../src/json/pointer.ts";

const value = { a: [{ p: 1 }, { p: null }, { q: 2 }], m: { "x/y": { p: 3 }, "~": 4 }, "*": 5 };

test.each([
  [["a", "0", "p"], [["/a/0/p", 1]]],
  [
    ["a", "*", "p"],
    [
      ["/a/0/p", 1],
      ["/a/1/p", null],
    ],
  ],
  [
    ["m", "*"],
    [
      ["/m/x~1y", { p: 3 }],
      ["/m/~0", 4],
    ],
  ],
  [["a", "p"], []],
  [["a", "3"], []],
  [["m", "toString"], []],
  [["*", "*"], expect.arrayContaining([["/a/2", { q: 2 }]])],
  [[], [["", value]]],
] as const)("the steps %j lead to every value that they name", (steps, expected) => {
  expect(lookUpAll(value, steps).map(({ pointer, value }) => [pointer, value])).toEqual(expected);
});
