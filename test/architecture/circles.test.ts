import { expect, test } from "vitest";
import { circles } from "./circles.ts";

test("circles() finds a circle behind a shared start, and none in a graph without one", () => {
  const edges = (pairs: readonly (readonly [string, string])[]): Map<string, Set<string>> => {
    const map = new Map<string, Set<string>>();
    for (const [from, to] of pairs) map.set(from, (map.get(from) ?? new Set()).add(to));
    return map;
  };
  expect(
    circles(
      edges([
        ["a", "b"],
        ["b", "c"],
        ["c", "b"],
        ["a", "c"],
      ]),
    ),
  ).toEqual(["b → c → b"]);
  expect(
    circles(
      edges([
        ["a", "b"],
        ["a", "c"],
        ["b", "c"],
      ]),
    ),
  ).toEqual([]);
});
