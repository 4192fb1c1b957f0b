/**
 * What confines a program: `namespaces`, in which it sees nothing but what it is granted, or `landlock`, which confines
 * less: see `docs/programs.md`.
 */
export type Isolation = (typeof ISOLATIONS)[number];

/** All of them, the strongest first. */
export const ISOLATIONS = ["namespaces", "landlock"] as const;

/**
 * Where a call can run. The modes have no order of strength: a policy lists those that it accepts for a call, best
 * first, and there is no other fallback.
 */
export type SandboxMode = "host" | "wasm" | "quickjs" | "process" | "microvm" | "remote";

/** Every {@link SandboxMode}. */
export const SANDBOX_MODES: readonly SandboxMode[] = Object.freeze([
  "host",
  "wasm",
  "quickjs",
  "process",
  "microvm",
  "remote",
]);

/** Whether any value is a {@link SandboxMode}. */
export function isSandboxMode(value: unknown): value is SandboxMode {
  return SANDBOX_MODES.includes(value as SandboxMode);
}
