/**
 * Where a call can run. No order of strength is assumed: a policy lists the modes that it accepts for a
 * call, best first, and there is no other fallback.
 */
export type SandboxMode = "host" | "wasm" | "quickjs" | "remote";

/** Every {@link SandboxMode}. */
export const SANDBOX_MODES: readonly SandboxMode[] = Object.freeze(["host", "wasm", "quickjs", "remote"]);

/** Tells whether a value from outside names a sandbox. */
export function isSandboxMode(value: unknown): value is SandboxMode {
  return SANDBOX_MODES.includes(value as SandboxMode);
}
