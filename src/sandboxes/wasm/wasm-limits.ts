import { firstLimitBesides, type LimitName, type ResourceLimits } from "../../policy/grant/limits.ts";

const MIB = 1_024 * 1_024;

/** The limits of a call whose grant names none. Each is enforced. */
export const WASM_DEFAULTS: Required<Omit<ResourceLimits, "stackBytes">> = Object.freeze({
  wallTimeMs: 30_000,
  memoryBytes: 64 * MIB,
  outputBytes: MIB,
  logLines: 1_000,
  nestedCalls: 16,
  fileBytes: 16 * MIB,
  netBytes: 16 * MIB,
});

const ENFORCED = Object.keys(WASM_DEFAULTS) as readonly LimitName[];

/** The first limit that is not enforced on components. */
export function unenforceableLimit(limits: ResourceLimits): LimitName | undefined {
  return firstLimitBesides(limits, ENFORCED);
}
