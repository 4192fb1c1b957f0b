import type { SandboxOutcome } from "../contract/outcome.ts";
import { readThrown } from "../contract/thrown-failure.ts";

/** The outcome of a call whose program did not start, since this was thrown. */
export function failedStart(thrown: unknown): SandboxOutcome {
  return { status: "failed", ...readThrown(thrown), effect: "none", used: { wallTimeMs: 0 } };
}
