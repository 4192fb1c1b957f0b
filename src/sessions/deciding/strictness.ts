import type { SessionMode } from "./levels.ts";

/**
 * The modes than which each is at least as strict, besides itself. `manual` is not as strict as `plan`, which denies what
 * `manual` asks about, nor as `review` and `audit`: a call that is allowed there still changes nothing.
 */
const MILDER: Readonly<Record<SessionMode, readonly SessionMode[]>> = {
  autonomous: [],
  cautious: ["autonomous"],
  manual: ["cautious", "autonomous"],
  plan: ["cautious", "autonomous"],
  review: ["audit", "cautious", "autonomous"],
  audit: ["review", "cautious", "autonomous"],
};

/**
 * Whether a mode is at least as strict as another: without a person, no call takes effect in it that would not in the
 * other. A plan counts as not approved, since a person approves it.
 */
export function isAtLeastAsStrict(mode: SessionMode, bound: SessionMode): boolean {
  return mode === bound || MILDER[mode].includes(bound);
}
