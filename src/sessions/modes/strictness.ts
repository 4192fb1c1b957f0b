import type { BaseMode } from "../levels.ts";
import type { ModeState } from "./mode.ts";

/**
 * The modes than which each is at least as strict, besides itself. `manual` is not as strict as `plan`, which denies what
 * `manual` asks about, nor as `review` and `audit`: a call that is allowed there still changes no file.
 */
const MILDER: Readonly<Record<BaseMode, readonly BaseMode[]>> = {
  autonomous: [],
  cautious: ["autonomous"],
  manual: ["cautious", "autonomous"],
  plan: ["cautious", "autonomous"],
  review: ["audit", "cautious", "autonomous"],
  audit: ["review", "cautious", "autonomous"],
};

/**
 * Whether a mode is at least as strict as another: without a person, no call takes effect in it that would not in the
 * other. A plan counts as not approved, since only a person approves it.
 */
export function isAtLeastAsStrict(mode: ModeState, bound: ModeState): boolean {
  if (mode.base !== bound.base && !MILDER[mode.base].includes(bound.base)) return false;
  for (const [name, level] of mode.tools) {
    const most = bound.tools.get(name);
    if (level === "auto" && most !== "auto") return false;
    // It would be asked about in place of what its class says, which may be `deny`.
    if (level === "prompt" && (most === undefined || most === "deny")) return false;
  }
  for (const [name, level] of bound.tools) {
    // What the mode does not name is left to its base, which may ask nothing.
    if (level !== "auto" && !mode.tools.has(name)) return false;
  }
  return true;
}
