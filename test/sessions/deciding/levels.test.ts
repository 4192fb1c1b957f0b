import { describe, expect, test } from "vitest";
import {
  acceptsApprovals,
  BASE_MODES,
  type CallLevel,
  DEFAULT_CLASS_LEVELS,
  type Level,
  type LevelBasis,
  levelOf,
  stagesChanges,
  TOOL_LEVELS,
} from "../../../src/sessions/levels.ts";
import { SIDE_EFFECTS, type SideEffects } from "../../../src/tool/side-effects.ts";

const LEVELS: readonly Level[] = ["auto", "prompt", "deny"];
const BOOLEANS = [false, true];

/** Every combination of everything that a level depends on. */
function* combinations(): Generator<LevelBasis> {
  for (const policy of ["allow", "ask", "deny"] as const)
    for (const remember of policy === "ask" ? BOOLEANS : [false])
      for (const mode of BASE_MODES)
        for (const sideEffects of SIDE_EFFECTS)
          for (const configured of [undefined, ...TOOL_LEVELS])
            for (const own of [undefined, "auto", "prompt", "always", "plan"] as const)
              for (const approved of BOOLEANS)
                for (const canStage of BOOLEANS)
                  for (const trusted of [undefined, {}, { execute: "prompt", network: "deny" }] as const)
                    yield {
                      policy,
                      remember,
                      mode,
                      sideEffects,
                      configured,
                      own,
                      approved,
                      canStage,
                      trusted,
                      classes: DEFAULT_CLASS_LEVELS,
                    };
}

const all = [...combinations()];
const rank = (level: CallLevel): number => ["auto", "staged", "prompt", "deny"].indexOf(level);

/**
 * The table: the first row that a call matches gives its level. Written from the strictest reason to the mildest, unlike
 * the code, which compares two levels.
 */
const TABLE: readonly (readonly [row: string, matches: (basis: LevelBasis) => boolean, level: CallLevel])[] =
  [
    ["the policy denies", ({ policy }) => policy === "deny", "deny"],
    ["the configuration denies", ({ configured }) => configured === "deny", "deny"],
    ["no plan is approved", ({ mode, sideEffects }) => mode === "plan" && changes(sideEffects), "deny"],
    [
      "a class of a trusted workspace is denied, and nothing says more of the call",
      (basis) => isLeftToClass(basis) && basis.trusted !== undefined && levelOfTrusted(basis) === "deny",
      "deny",
    ],
    ["the tool always asks", ({ own }) => own === "always" || own === "plan", "prompt"],
    ["the mode is manual", ({ mode }) => mode === "manual", "prompt"],
    ["the policy asks each time", ({ policy, remember }) => policy === "ask" && !remember, "prompt"],
    [
      "the policy asks, and nothing is approved",
      ({ policy, approved }) => policy === "ask" && !approved,
      "prompt",
    ],
    ["the configuration asks each time", ({ configured }) => configured === "prompt", "prompt"],
    ["the configuration asks nothing", ({ configured }) => configured === "auto", "auto"],
    ["an approval covers the call", ({ approved }) => approved, "auto"],
    ["the configuration asks once", ({ configured }) => configured === "prompt_once", "prompt"],
    [
      "the mode stages changes, and this one can be staged",
      ({ mode, sideEffects, canStage }) => stagesChanges(mode) && sideEffects === "write" && canStage,
      "staged",
    ],
    [
      "the mode stages changes, and this one cannot be staged",
      ({ mode, sideEffects }) => stagesChanges(mode) && changes(sideEffects),
      "prompt",
    ],
    ["the tool asks", ({ own }) => own === "prompt", "prompt"],
    ["the tool asks nothing", ({ own }) => own === "auto", "auto"],
    ["the mode is autonomous", ({ mode }) => mode === "autonomous", "auto"],
    [
      "the class asks in a trusted workspace",
      (basis) => basis.trusted !== undefined && levelOfTrusted(basis) === "prompt",
      "prompt",
    ],
    ["the workspace is trusted", ({ trusted }) => trusted !== undefined, "auto"],
    ["the class reads at most", ({ sideEffects }) => !changes(sideEffects), "auto"],
    ["the class changes something", () => true, "prompt"],
  ];

function isLeftToClass({ configured, approved, own, mode, sideEffects }: LevelBasis): boolean {
  // What the tool says of itself does not count.
  if (stagesChanges(mode) && changes(sideEffects)) return configured === undefined && !approved;
  const says = own === "auto" || own === "prompt";
  return configured === undefined && !approved && !says && mode !== "autonomous";
}

function changes(sideEffects: SideEffects): boolean {
  return sideEffects !== "none" && sideEffects !== "read";
}

function levelOfTrusted({ trusted, sideEffects }: LevelBasis): Level {
  return trusted?.[sideEffects] ?? "auto";
}

describe("the level of a call", () => {
  test(`is that of the first matching row, in all ${all.length} combinations`, () => {
    const hits = new Map<string, number>();
    const wrong = all.filter((basis) => {
      const [row, , level] = TABLE.find(([, matches]) => matches(basis)) ?? ["none", undefined, undefined];
      hits.set(row, (hits.get(row) ?? 0) + 1);
      return levelOf(basis) !== level;
    });
    expect(wrong).toEqual([]);
    expect([...hits.keys()].sort()).toEqual(TABLE.map(([row]) => row).sort());
  });

  test("is never below what the policy decides, unless the policy accepts an approval", () => {
    for (const basis of all) {
      const floor = basis.policy === "deny" ? "deny" : basis.policy === "ask" ? "prompt" : "auto";
      if (basis.remember && basis.approved) continue;
      expect(rank(levelOf(basis))).toBeGreaterThanOrEqual(rank(floor));
    }
  });

  test("is as strict in manual mode as in cautious, and in cautious as in autonomous", () => {
    for (const basis of all) {
      const [autonomous, cautious, manual] = (["autonomous", "cautious", "manual"] as const).map((mode) =>
        rank(levelOf({ ...basis, mode })),
      ) as [number, number, number];
      expect(manual).toBeGreaterThanOrEqual(cautious);
      expect(cautious).toBeGreaterThanOrEqual(autonomous);
    }
  });

  test("is the configured one of the class if nothing else says anything", () => {
    for (const level of LEVELS) {
      const classes = { ...DEFAULT_CLASS_LEVELS, write: level };
      const basis: LevelBasis = {
        policy: "allow",
        remember: false,
        mode: "cautious",
        sideEffects: "write",
        configured: undefined,
        canStage: false,
        own: undefined,
        approved: false,
        trusted: undefined,
        classes,
      };
      expect(levelOf(basis)).toBe(level);
    }
  });
});

test("an approval is worth remembering exactly if it would turn a question into none", () => {
  for (const basis of all) {
    if (basis.approved || levelOf(basis) !== "prompt") continue;
    expect(acceptsApprovals(basis)).toBe(levelOf({ ...basis, approved: true }) === "auto");
  }
});
