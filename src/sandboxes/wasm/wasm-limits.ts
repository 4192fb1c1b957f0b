import { firstLimitBesides, type LimitName, type ResourceLimits } from "../../policy/grant/limits.ts";

const MIB = 1_024 * 1_024;

/** Default limits, for those that a grant does not set. All of them are enforced. */
export const WASM_DEFAULTS: Required<
  Omit<ResourceLimits, "stackBytes" | "cpuMs" | "processes" | "processMemoryBytes" | "waitTimeMs">
> = Object.freeze({
  wallTimeMs: 30_000,
  memoryBytes: 64 * MIB,
  outputBytes: MIB,
  logLines: 1_000,
  nestedCalls: 16,
  fileBytes: 16 * MIB,
  netBytes: 16 * MIB,
});

const ENFORCED = Object.keys(WASM_DEFAULTS) as readonly LimitName[];

/** Returns the first limit that this sandbox cannot enforce, if there is one. */
export function unenforceableLimit(limits: ResourceLimits): LimitName | undefined {
  return firstLimitBesides(limits, ENFORCED);
}
