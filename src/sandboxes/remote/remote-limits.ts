import type { ResourceLimits } from "../../policy/grant/limits.ts";

/** The default limits of a remote tool. */
export const REMOTE_DEFAULTS: Required<Pick<ResourceLimits, "wallTimeMs" | "outputBytes">> = Object.freeze({
  wallTimeMs: 30_000,
  outputBytes: 1_024 * 1_024,
});
