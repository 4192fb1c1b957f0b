import { describe, expect, test } from "vitest";
import { type Capabilities, checkCapabilities, commonCapabilities } from "../../src/policy/capabilities.ts";

describe("what two sets of capabilities both give", () => {
  test.each<[string, Capabilities, Capabilities, Capabilities]>([
    ["is nothing where one gives nothing", { env: ["A"], clock: true, tools: ["*"] }, {}, {}],
    ["is what stands in both lists", { env: ["A", "B"] }, { env: ["B", "C"] }, { env: ["B"] }],
    [
      "is the narrower pattern of tools",
      { tools: ["*"] },
      { tools: ["read_*", "add"] },
      { tools: ["read_*", "add"] },
    ],
    [
      "is the tool that a pattern takes in",
      { tools: ["read_file"] },
      { tools: ["read_*"] },
      { tools: ["read_file"] },
    ],
    ["is no tool where patterns merely overlap", { tools: ["read_*"] }, { tools: ["*_file"] }, {}],
    ["is no tool that only looks like a pattern", { tools: ["read"] }, { tools: ["read_*"] }, {}],
    [
      "keeps the restrictions of either",
      { frozenClock: 0 },
      { randomSeed: "s" },
      { frozenClock: 0, randomSeed: "s" },
    ],
    ["keeps the first of two frozen clocks", { frozenClock: 1 }, { frozenClock: 2 }, { frozenClock: 1 }],
  ])("%s", (_case, a, b, common) => {
    expect(commonCapabilities(a, b)).toEqual(common);
  });
});

describe("capabilities from outside", () => {
  test("hold only what is granted", () => {
    expect(checkCapabilities({ env: [], clock: false, tools: [], frozenClock: 0 })).toEqual({
      frozenClock: 0,
    });
  });

  test.each<[string, object]>([
    ["tools", { tools: "add" }],
    ["tools", { tools: [1] }],
    ["frozenClock", { frozenClock: 1.5 }],
    ["randomSeed", { randomSeed: 7 }],
    ["teleport", { teleport: true }],
  ])("are refused by name: %s", (name, capabilities) => {
    expect(() => checkCapabilities(capabilities)).toThrow(name);
  });
});
