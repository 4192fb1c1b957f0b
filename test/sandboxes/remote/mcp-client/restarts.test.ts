import { expect, test } from "vitest";
// Inside: gives the times as arguments: the restarts of an hour would take an hour.
import { Restarts } from "../../../../src/sandboxes/remote/mcp-client/rate.ts";

const MINUTE = 60_000;

test("a server is started again after pauses that double, five times in any ten minutes", () => {
  const restarts = new Restarts();
  expect([0, 1, 2, 3, 4].map((minute) => restarts.next(minute * MINUTE))).toEqual([
    250, 500, 1_000, 2_000, 4_000,
  ]);
  expect(restarts.next(9.9 * MINUTE)).toBeUndefined();
  // The first of the five is ten minutes ago, and what was refused does not count.
  expect(restarts.next(10 * MINUTE)).toBe(4_000);
  expect(restarts.next(10.5 * MINUTE)).toBeUndefined();
  expect(restarts.next(60 * MINUTE)).toBe(250);
});
