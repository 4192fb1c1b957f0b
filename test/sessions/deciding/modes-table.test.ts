import { expect, test } from "vitest";
import {
  BASE_MODES,
  type BaseMode,
  type CallLevel,
  DEFAULT_CLASS_LEVELS,
  type Level,
  levelOf,
} from "../../../src/sessions/levels.ts";
import { SIDE_EFFECTS, type SideEffects } from "../../../src/tool/side-effects.ts";

type Row = readonly [BaseMode, SideEffects, explicit: Level | undefined, own: "always" | undefined];

const ROWS: readonly Row[] = BASE_MODES.flatMap((mode) =>
  SIDE_EFFECTS.flatMap((sideEffects) =>
    ([undefined, "auto", "prompt", "deny"] as const).flatMap((explicit) =>
      ([undefined, "always"] as const).map((own): Row => [mode, sideEffects, explicit, own]),
    ),
  ),
);

/** What each mode says of each class: `none`, `read`, `write`, `execute`, `network`, `destructive`. */
const BY_MODE: Readonly<Record<BaseMode, readonly CallLevel[]>> = {
  cautious: ["auto", "auto", "prompt", "prompt", "prompt", "prompt"],
  autonomous: ["auto", "auto", "auto", "auto", "auto", "auto"],
  manual: ["prompt", "prompt", "prompt", "prompt", "prompt", "prompt"],
  plan: ["auto", "auto", "deny", "deny", "deny", "deny"],
  review: ["auto", "auto", "staged", "prompt", "prompt", "prompt"],
  audit: ["auto", "auto", "staged", "prompt", "prompt", "prompt"],
};

/** The modes in which an explicit `auto` is not heard, since they raise every level to theirs. */
const RAISING: readonly BaseMode[] = ["manual", "plan"];

function expected([mode, sideEffects, explicit, own]: Row): CallLevel {
  const byMode = BY_MODE[mode][SIDE_EFFECTS.indexOf(sideEffects)] as CallLevel;
  if (explicit === "deny" || byMode === "deny") return "deny";
  if (own === "always" || explicit === "prompt") return "prompt";
  return explicit === "auto" && !RAISING.includes(mode) ? "auto" : byMode;
}

test("the classes are in the order of the table", () => {
  expect(SIDE_EFFECTS).toEqual(["none", "read", "write", "execute", "network", "destructive"]);
  expect(ROWS).toHaveLength(288);
});

test.each(ROWS)("in the mode %s, a tool of class %s with the level %s and confirm %s", (...row) => {
  const [mode, sideEffects, explicit, own] = row;
  const basis = {
    ...({ policy: "allow", remember: false, mode, sideEffects, own, approved: false } as const),
    canStage: true,
    trusted: undefined,
    classes: DEFAULT_CLASS_LEVELS,
  };
  const level = expected(row);
  expect(levelOf({ ...basis, modeLevel: explicit, configured: undefined })).toBe(level);
  expect(levelOf({ ...basis, modeLevel: undefined, configured: explicit })).toBe(level);
  // What cannot be staged is asked about.
  const unenforced = level === "staged" ? "prompt" : level;
  expect(levelOf({ ...basis, canStage: false, modeLevel: explicit, configured: undefined })).toBe(unenforced);
});
