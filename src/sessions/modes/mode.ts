import type { BaseMode, Level } from "../levels.ts";

/** A mode of your own: another mode, with levels of single tools. */
export interface CustomMode {
  readonly base: BaseMode;
  /**
   * By name of tool: before what `confirmations.tools` and the tool itself say. `auto` does not lower what the base
   * mode, the policy or `alwaysConfirm` demands. At most 1,000. Default: none.
   */
  readonly tools?: Readonly<Record<string, Level>>;
}

/** The name of a mode of your own, as in `confirmations.modes`. */
type ModeName = string & Record<never, never>;

/** How a session asks: a mode, the name of a mode of your own, or such a mode itself. */
export type SessionMode = BaseMode | ModeName | CustomMode;

/** A mode, as the levels of calls depend on it. Frozen. */
export interface ModeState {
  /** As it was set. */
  readonly mode: SessionMode;
  readonly base: BaseMode;
  readonly tools: ReadonlyMap<string, Level>;
  /** Whether a person has approved a plan. Only with the base `plan`. */
  readonly isPlanApproved: boolean;
}

/** The mode in which a session decides now: that of an approved plan is `autonomous`. */
export function decidingMode({ base, isPlanApproved }: Pick<ModeState, "base" | "isPlanApproved">): BaseMode {
  return base === "plan" && isPlanApproved ? "autonomous" : base;
}
