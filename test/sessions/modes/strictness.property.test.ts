import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  BASE_MODES,
  type CallLevel,
  DEFAULT_CLASS_LEVELS,
  levelOf,
  TOOL_LEVELS,
} from "../../../src/sessions/levels.ts";
import { decidingMode, isAtLeastAsStrict, type ModeState } from "../../../src/sessions/modes/mode.ts";
import { Modes } from "../../../src/sessions/modes/modes.ts";
import { SIDE_EFFECTS } from "../../../src/tool/side-effects.ts";

const modes = new Modes();
const optional = <Value>(values: readonly Value[]): fc.Arbitrary<Value | undefined> =>
  fc.constantFrom(undefined, ...values);

const modeState = fc
  .record({
    base: fc.constantFrom(...BASE_MODES),
    tools: fc.dictionary(fc.constantFrom("a", "b"), fc.constantFrom("auto", "prompt", "deny" as const)),
  })
  .map((custom) => modes.resolve(custom));

const call = fc.record({
  tool: fc.constantFrom("a", "b", "c"),
  policy: fc.constantFrom("allow", "ask", "deny" as const),
  remember: fc.boolean(),
  sideEffects: fc.constantFrom(...SIDE_EFFECTS),
  canStage: fc.boolean(),
  configured: optional(TOOL_LEVELS),
  own: optional(["auto", "prompt", "always", "plan"] as const),
  approved: fc.boolean(),
  trusted: optional([{}, { execute: "prompt", network: "deny" } as const]),
  classes: fc.constantFrom(DEFAULT_CLASS_LEVELS, {
    ...DEFAULT_CLASS_LEVELS,
    read: "prompt",
    write: "auto",
  } as const),
});

/** What is staged takes effect as little as what is asked about. */
const RANK: Record<CallLevel, number> = { auto: 0, staged: 1, prompt: 1, deny: 2 };

type Call = typeof call extends fc.Arbitrary<infer Each> ? Each : never;

function rankOf({ tool, ...basis }: Call, state: ModeState): number {
  return RANK[levelOf({ ...basis, mode: decidingMode(state), modeLevel: state.tools.get(tool) })];
}

describe("a mode that is at least as strict as another", () => {
  test("gives no call a milder level", () => {
    fc.assert(
      fc.property(modeState, modeState, call, (mode, bound, each) => {
        fc.pre(isAtLeastAsStrict(mode, bound));
        expect(rankOf(each, mode)).toBeGreaterThanOrEqual(rankOf(each, bound));
      }),
      { numRuns: 5_000 },
    );
  });

  test("is at least as strict as itself, and as what that one is as strict as", () => {
    fc.assert(
      fc.property(modeState, modeState, modeState, (a, b, c) => {
        expect(isAtLeastAsStrict(a, a)).toBe(true);
        if (isAtLeastAsStrict(a, b) && isAtLeastAsStrict(b, c)) expect(isAtLeastAsStrict(a, c)).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });
});

test.each([
  ["plan", "cautious", true],
  ["review", "audit", true],
  ["audit", "review", true],
  ["manual", "cautious", true],
  ["manual", "plan", false],
  ["manual", "review", false],
  ["autonomous", "cautious", false],
  ["plan", "manual", false],
  ["review", "plan", false],
])("%s is at least as strict as %s: %s", (mode, bound, expected) => {
  expect(isAtLeastAsStrict(modes.resolve(mode), modes.resolve(bound))).toBe(expected);
});

test("a class that is denied stays so in a mode that holds changes, and where a mode asks about a tool", () => {
  const basis = {
    ...({
      policy: "allow",
      remember: false,
      sideEffects: "network",
      canStage: false,
      approved: false,
    } as const),
    ...({
      configured: undefined,
      own: undefined,
      trusted: { network: "deny" },
    } as const),
    classes: DEFAULT_CLASS_LEVELS,
  };
  expect(levelOf({ ...basis, mode: "audit" })).toBe("deny");
  const [asking, cautious] = [{ base: "cautious", tools: { a: "prompt" } }, "cautious"].map((mode) =>
    modes.resolve(mode),
  ) as [ModeState, ModeState];
  expect(isAtLeastAsStrict(asking, cautious)).toBe(false);
});

test("a tool that the bound denies must be denied, and one that it asks about must not run unasked", () => {
  const bound = modes.resolve({ base: "cautious", tools: { a: "deny", b: "prompt" } });
  const strict = (tools: Record<string, "auto" | "prompt" | "deny">): boolean =>
    isAtLeastAsStrict(modes.resolve({ base: "cautious", tools }), bound);
  expect(strict({ a: "deny", b: "prompt" })).toBe(true);
  expect(strict({ a: "deny", b: "deny" })).toBe(true);
  expect(strict({ a: "prompt", b: "prompt" })).toBe(false);
  expect(strict({ a: "deny", b: "auto" })).toBe(false);
  expect(strict({ a: "deny" })).toBe(false);
  expect(strict({ a: "deny", b: "prompt", c: "auto" })).toBe(false);
  expect(strict({ a: "deny", b: "prompt", c: "deny" })).toBe(true);
});
