import type { ResourceLimits } from "../../policy/grant/limits.ts";

/** The limits of a remote tool for which the grant sets none. */
export const REMOTE_DEFAULTS: Required<Pick<ResourceLimits, "wallTimeMs" | "outputBytes">> = Object.freeze({
  wallTimeMs: 30_000,
  outputBytes: 1_024 * 1_024,
});
