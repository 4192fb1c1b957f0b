import type { ModeState } from "../modes/mode.ts";
import type { SessionCore } from "./core.ts";

/** Returns the modes that the calls of a session are held to: its own, and those of all sessions above it. */
export function modesOf({
  modeState,
  origin,
}: Pick<SessionCore, "modeState" | "origin">): readonly ModeState[] {
  return origin === undefined ? [modeState] : [modeState, ...modesOf(origin.parent)];
}
