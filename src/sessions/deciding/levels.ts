import type { SideEffects } from "../../tool/side-effects.ts";

/** What happens to a call: it runs, a person is asked first, or it does not run. From the mildest to the strictest. */
export type Level = "auto" | "prompt" | "deny";

/** How a session asks: see `docs/sessions.md`. */
export type SessionMode = "cautious" | "autonomous" | "manual";

/** Every {@link SessionMode}. */
export const SESSION_MODES: readonly SessionMode[] = Object.freeze(["cautious", "autonomous", "manual"]);

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
  readonly mode: SessionMode;
  readonly sideEffects: SideEffects;
  /** What the configuration says about the tool. Default: nothing. */
  readonly configured: ToolLevel | undefined;
  /** What the tool says about itself. Default: nothing. */
  readonly own: "auto" | "prompt" | undefined;
  readonly alwaysConfirm: boolean;
  /** Whether an approval covers the call. */
  readonly approved: boolean;
  /** The levels of classes in a trusted workspace; `undefined` in any other workspace. */
  readonly trusted: Partial<ClassLevels> | undefined;
  readonly classes: ClassLevels;
}

const ORDER: Record<Level, number> = { auto: 0, prompt: 1, deny: 2 };

/** Returns the level of a call: the higher one of what raises it and of what it is otherwise. */
export function levelOf(basis: LevelBasis): Level {
  const raised = raisedLevel(basis);
  // Nothing is above it.
  if (raised === "deny") return raised;
  const usual = usualLevel(basis);
  return ORDER[raised] > ORDER[usual] ? raised : usual;
}

/** What nothing can lower. */
function raisedLevel(basis: LevelBasis): Level {
  const { policy, configured, alwaysConfirm, mode } = basis;
  if (policy === "deny" || configured === "deny") return "deny";
  if (alwaysConfirm || mode === "manual") return "prompt";
  return policy === "ask" && !(basis.remember && basis.approved) ? "prompt" : "auto";
}

/** The first that says something, from what is said of the call to what holds for its class. */
function usualLevel(basis: LevelBasis): Level {
  const { configured, approved, own, mode, trusted, sideEffects, classes } = basis;
  if (configured === "auto" || configured === "prompt") return configured;
  if (approved) return "auto";
  if (configured === "prompt_once") return "prompt";
  if (own !== undefined) return own;
  if (mode === "autonomous") return "auto";
  if (trusted !== undefined) return trusted[sideEffects] ?? "auto";
  return classes[sideEffects];
}

/** Whether an approval can answer in place of a person, so that it is worth remembering one. */
export function hearsApprovals({ policy, remember, mode, configured, alwaysConfirm }: LevelBasis): boolean {
  if (alwaysConfirm || mode === "manual" || configured === "prompt" || configured === "deny") return false;
  return policy === "allow" || (policy === "ask" && remember);
}
