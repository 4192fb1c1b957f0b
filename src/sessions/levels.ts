import type { SideEffects } from "../tool/side-effects.ts";
import type { ToolTraits } from "../tool/tool-traits.ts";

/** What a session has unless its options say otherwise. */
export const SESSION_DEFAULTS: Readonly<Record<"timeoutMs" | "concurrency" | "ledgerEntries", number>> =
  Object.freeze({ timeoutMs: 5 * 60_000, concurrency: 4, ledgerEntries: 100_000 });

/** What happens to a call: it runs, a person is asked first, or it does not run. From the mildest to the strictest. */
export type Level = "auto" | "prompt" | "deny";

/** The level of one call. `staged`: it runs, and what it changes waits until a person accepts it. */
export type CallLevel = Level | "staged";

/** The modes that a session can be in, or on which a mode of your own is based: see `docs/confirmations.md`. */
export type BaseMode = "cautious" | "autonomous" | "manual" | "plan" | "review" | "audit";

/** Every {@link BaseMode}. */
export const BASE_MODES: readonly BaseMode[] = Object.freeze([
  "cautious",
  "autonomous",
  "manual",
  "plan",
  "review",
  "audit",
]);

/** Whether changes of files wait in a mode until a person accepts them. */
export function stagesChanges(mode: BaseMode): boolean {
  return mode === "review" || mode === "audit";
}

/** What the configuration says about a tool. `prompt_once` asks until a person has allowed the tool in the session. */
export type ToolLevel = Level | "prompt_once";

/** Every {@link ToolLevel}. */
export const TOOL_LEVELS: readonly ToolLevel[] = Object.freeze(["auto", "prompt", "deny", "prompt_once"]);

/** The levels of calls by their class, where nothing else says anything. */
export type ClassLevels = Readonly<Record<SideEffects, Level>>;

/** The default of {@link ClassLevels}. */
export const DEFAULT_CLASS_LEVELS: ClassLevels = Object.freeze({
  none: "auto",
  read: "auto",
  write: "prompt",
  execute: "prompt",
  network: "prompt",
  destructive: "prompt",
});

/** Everything that the level of a call depends on. */
export interface LevelBasis {
  readonly policy: "allow" | "ask" | "deny";
  /** Whether the policy accepts an approval in place of an answer, with `ask`. */
  readonly remember: boolean;
  /** The mode. A session whose plan is approved decides as in `autonomous`. */
  readonly mode: BaseMode;
  /** What the mode says about the tool. Default: nothing. */
  readonly modeLevel?: Level | undefined;
  readonly sideEffects: SideEffects;
  /** Whether everything that the call changes can be staged. */
  readonly canStage: boolean;
  /** What the configuration says about the tool. Default: nothing. */
  readonly configured: ToolLevel | undefined;
  /** What the tool says about itself. Default: nothing. */
  readonly own: ToolTraits["confirm"];
  /** Whether an approval covers the call. */
  readonly approved: boolean;
  /** The levels of classes in a trusted workspace; `undefined` in any other workspace. */
  readonly trusted: Partial<ClassLevels> | undefined;
  readonly classes: ClassLevels;
}

const ORDER: Record<CallLevel, number> = { auto: 0, staged: 1, prompt: 2, deny: 3 };

/** Returns the strictest of two levels. */
export function strictestLevel(a: CallLevel, b: CallLevel): CallLevel {
  return ORDER[a] > ORDER[b] ? a : b;
}

/** Returns the level of a call: the higher one of what raises it and of what it is otherwise. */
export function levelOf(basis: LevelBasis): CallLevel {
  const raised = raisedLevel(basis);
  // Nothing is above it.
  if (raised === "deny") return raised;
  return strictestLevel(raised, usualLevel(basis));
}

/** Whether the mode denies a call, whatever else is said of it, until a person has approved a plan. */
export function awaitsPlan({ mode, sideEffects }: Pick<LevelBasis, "mode" | "sideEffects">): boolean {
  return mode === "plan" && !isReading(sideEffects);
}

/** Whether a tool says of itself that a person is asked about every call, which nothing can lower. */
export function alwaysAsks(confirm: ToolTraits["confirm"]): boolean {
  return confirm === "always" || confirm === "plan";
}

/** Whether a tool of a class changes nothing. */
export function isReading(sideEffects: SideEffects): boolean {
  return sideEffects === "none" || sideEffects === "read";
}

/** What nothing can lower. */
function raisedLevel(basis: LevelBasis): Level {
  const { policy, configured, modeLevel, own, mode } = basis;
  if (policy === "deny" || configured === "deny" || modeLevel === "deny") return "deny";
  if (awaitsPlan(basis)) return "deny";
  if (alwaysAsks(own) || mode === "manual") return "prompt";
  return policy === "ask" && !(basis.remember && basis.approved) ? "prompt" : "auto";
}

/** The most specific level that is set, from that of the call to that of its class. */
function usualLevel(basis: LevelBasis): CallLevel {
  const { configured, modeLevel, approved, own, mode, sideEffects } = basis;
  if (modeLevel === "auto" || modeLevel === "prompt") return modeLevel;
  if (configured === "auto" || configured === "prompt") return configured;
  if (approved) return "auto";
  if (configured === "prompt_once") return "prompt";
  // Neither the tool's own level nor a trusted workspace may keep a person from reviewing a change.
  if (stagesChanges(mode) && !isReading(sideEffects)) {
    if (classLevel(basis) === "deny") return "deny";
    return sideEffects === "write" && basis.canStage ? "staged" : "prompt";
  }
  if (own === "auto" || own === "prompt") return own;
  if (mode === "autonomous") return "auto";
  return classLevel(basis);
}

/** The level of the class, which can differ in a trusted workspace. */
function classLevel({ trusted, sideEffects, classes }: LevelBasis): Level {
  return trusted === undefined ? classes[sideEffects] : (trusted[sideEffects] ?? "auto");
}

/** Whether an approval can take the place of a person's answer, so that it is worth remembering one. */
export function acceptsApprovals(basis: LevelBasis): boolean {
  const { policy, remember, mode, modeLevel, configured, own } = basis;
  if (alwaysAsks(own) || mode === "manual" || awaitsPlan(basis)) return false;
  const explicit = modeLevel ?? configured;
  if (explicit === "prompt" || explicit === "deny" || configured === "deny") return false;
  return policy === "allow" || (policy === "ask" && remember);
}
