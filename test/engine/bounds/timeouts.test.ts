import { describe, expect, test } from "vitest";
import { limitsOf } from "../../../src/engine/bounds.ts";
import { allow } from "../../../src/policy/policy.ts";
import { SIDE_EFFECTS } from "../../../src/tool/side-effects.ts";
import { contextFor, dispatchTool, hostTool } from "../helpers.ts";

const TIMEOUTS = { quick: 60_000, slow: 600_000 };

describe("The wall time of a host call, as its receipt reports it, is", () => {
  test("that of the tool's class, if the context has time-outs", async () => {
    const held = await Promise.all(
      SIDE_EFFECTS.map(async (sideEffects) => {
        const ctx = await contextFor([hostTool(() => 1, { sideEffects })], { timeouts: TIMEOUTS });
        return [sideEffects, (await dispatchTool(ctx)).receipt.enforced.wallTimeMs];
      }),
    );
    expect(Object.fromEntries(held)).toEqual({
      none: 60_000,
      read: 60_000,
      write: 60_000,
      execute: 600_000,
      network: 600_000,
      destructive: 600_000,
    });
  });

  test("a minute, or ten minutes for the classes that act elsewhere, if nothing sets one", async () => {
    const enforced = (["read", "execute"] as const).map(async (sideEffects) => {
      const ctx = await contextFor([hostTool(() => 1, { sideEffects })]);
      return (await dispatchTool(ctx)).receipt.enforced;
    });
    expect(await Promise.all(enforced)).toEqual([{ wallTimeMs: 60_000 }, { wallTimeMs: 600_000 }]);
  });

  test('unlimited with the time-outs "none", if nothing else sets one', async () => {
    const ctx = await contextFor([hostTool(() => 1, { sideEffects: "execute" })], { timeouts: "none" });
    expect((await dispatchTool(ctx)).receipt.enforced).toEqual({});
  });

  test("the grant's, if it sets one", async () => {
    const policy = { check: () => allow({ sandbox: "host", limits: { wallTimeMs: 90_000 } }) };
    const ctx = await contextFor([hostTool(() => 1, { sideEffects: "read" })], {
      policy,
      timeouts: TIMEOUTS,
    });
    expect((await dispatchTool(ctx)).receipt.enforced).toEqual({ wallTimeMs: 90_000 });
  });

  test("found anew when the next context of the same tool has other time-outs", async () => {
    const ctx = await contextFor([hostTool(() => 1)], { timeouts: TIMEOUTS });
    const held = [ctx, { ...ctx, timeouts: { quick: 1_000, slow: 2_000 } }, ctx].map(async (each) => {
      return (await dispatchTool(each)).receipt.enforced.wallTimeMs;
    });
    expect(await Promise.all(held)).toEqual([600_000, 2_000, 600_000]);
  });

  test("that of the class under an upper bound too, unless the bound is lower", async () => {
    const upperBound = (wallTimeMs: number) => ({ limits: { wallTimeMs }, capabilities: {} });
    const ctx = await contextFor([hostTool(() => 1, { sideEffects: "read" })], { timeouts: TIMEOUTS });
    const held = [90_000, 30_000].map(async (ms) => {
      return (await dispatchTool({ ...ctx, upperBound: upperBound(ms) })).receipt.enforced.wallTimeMs;
    });
    expect(await Promise.all(held)).toEqual([60_000, 30_000]);
  });
});

test("A time-out of the context ends the call", async () => {
  const tool = hostTool(() => new Promise(() => {}), { sideEffects: "read" });
  const ctx = await contextFor([tool], { timeouts: { quick: 20, slow: 600_000 } });
  expect((await dispatchTool(ctx)).error).toMatchObject({
    code: "timeout",
    message: "Tool exceeded 20ms wall time limit",
  });
});

describe("limitsOf", () => {
  const DEFAULTS = { wallTimeMs: 30_000, memoryBytes: 64 };
  const read = { sideEffects: "read" } as const;

  test.each([
    ["the sandbox's default beats the class", {}, DEFAULTS, read, 30_000],
    ["the tool's own beats the sandbox's default", {}, DEFAULTS, { ...read, timeoutMs: 300_000 }, 300_000],
    ["the tool's own beats the class", {}, {}, { ...read, timeoutMs: 5 }, 5],
    ["the grant bounds the tool's own", { wallTimeMs: 100 }, {}, { ...read, timeoutMs: 300_000 }, 100],
    ["the tool's own may be below the grant", { wallTimeMs: 100 }, {}, { ...read, timeoutMs: 5 }, 5],
    ["the grant replaces the sandbox's default", { wallTimeMs: 90_000 }, DEFAULTS, read, 90_000],
  ])("%s", (_name, granted, defaults, tool, wallTimeMs) => {
    expect(limitsOf(granted, defaults, tool, TIMEOUTS)).toEqual({ ...defaults, wallTimeMs });
  });
});
