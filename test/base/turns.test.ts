import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { awaitTurn } from "../../src/base/turns.ts";

const OWNER = {};

test("a text may be read at once if no other was read in the turn, and small texts always", async () => {
  await setImmediate();
  expect(awaitTurn(1e6, OWNER)).toBeUndefined();
  expect(awaitTurn(4_096, OWNER)).toBeUndefined();
  await setImmediate();
  expect([awaitTurn(16_000, OWNER), awaitTurn(16_000, OWNER)]).toEqual([undefined, undefined]);
  await setImmediate();
});

test("long texts that arrive together are read in order, each in a turn of its own", async () => {
  const seen: string[] = [];
  const read = async (name: string, length: number): Promise<void> => {
    await awaitTurn(length, OWNER);
    seen.push(name);
  };
  const all = [read("a", 1e6), read("b", 1e6), read("c", 10_000), read("d", 10_000), read("e", 1e6)];
  for (const names of ["a", "ab", "abcd", "abcde"]) {
    await Promise.resolve();
    expect(seen.join("")).toBe(names);
    await setImmediate();
  }
  await Promise.all(all);
  expect(awaitTurn(1e6, OWNER)).toBeUndefined();
});

test("the long texts of one owner do not make those of another wait for all of them", async () => {
  await setImmediate();
  const seen: string[] = [];
  const read = async (principal: string): Promise<void> => {
    await awaitTurn(1e6, { principal });
    seen.push(principal);
  };
  await Promise.all([...Array.from({ length: 20 }, () => read("ann")), read("bob")]);
  expect(seen.indexOf("bob")).toBeLessThanOrEqual(2);
});
