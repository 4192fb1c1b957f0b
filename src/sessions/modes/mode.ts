import type { BaseMode, Level } from "../levels.ts";

/** A mode of your own: another mode, with levels of single tools. */
export interface CustomMode {
  readonly base: BaseMode;
  /**
   * By name of tool: before what `confirmations.tools` and the tool itself say. `auto` does not lower what the base
   * mode, the policy or `confirm: "always"` of the tool demands. At most 1,000. Default: none.
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

/** A mode as it is stored. */
interface StoredMode {
  /** Not checked. */
  readonly mode: unknown;
  readonly isPlanApproved: boolean;
  /** The id of the last confirmation with which a plan was approved, perhaps in an earlier mode; `undefined` if none. */
  readonly planConfirmation: string | undefined;
}

/**
 * Returns a mode as a text for a store: its name, or JSON if there is more to it than its name. A mode of the configuration
 * is stored by its name, so that it is what the configuration says when it is read.
 */
export function writeStoredMode(
  { mode, isPlanApproved }: Pick<ModeState, "mode" | "isPlanApproved">,
  planConfirmation?: string,
): string {
  if (typeof mode === "string" && !isPlanApproved && planConfirmation === undefined) return mode;
  const stored: {
    readonly mode: SessionMode;
    readonly plan?: "approved";
    readonly planConfirmation?: string;
  } = {
    mode,
    ...(isPlanApproved && { plan: "approved" }),
    ...(planConfirmation !== undefined && { planConfirmation }),
  };
  return JSON.stringify(stored);
}

/** @throws {SyntaxError} if a text that looks like JSON is not valid JSON. */
export function readStoredMode(text: string): StoredMode {
  if (!text.startsWith("{")) return { mode: text, isPlanApproved: false, planConfirmation: undefined };
  const stored = JSON.parse(text) as Readonly<Record<string, unknown>>;
  // The second one is that of earlier versions.
  const planConfirmation = stored["planConfirmation"] ?? stored["planInquiry"];
  return {
    mode: stored["mode"],
    isPlanApproved: stored["plan"] === "approved",
    planConfirmation: typeof planConfirmation === "string" ? planConfirmation : undefined,
  };
}

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
