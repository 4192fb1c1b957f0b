import { type EnforcedLimit, type EnforcedLimits, limitsEnforcedBy } from "../contract/enforced-limits.ts";

const MIB = 1_024 * 1_024;

/** The default limits of a program. */
export const MICROVM_DEFAULTS: EnforcedLimits<"microvm"> = Object.freeze({
  wallTimeMs: 60_000,
  memoryBytes: 64 * MIB,
  outputBytes: MIB,
  logLines: 1_000,
  processes: 64,
});

/** The limits that can be enforced: `memoryBytes` and `processes` by the machine's kernel, in a control group. */
export const MICROVM_LIMITS: readonly EnforcedLimit<"microvm">[] = limitsEnforcedBy("microvm");

/** Maximum memory of a machine. A tool with a higher limit cannot use all of it. */
const MOST_BYTES = 4_096 * MIB;

/** Bytes that the machine's kernel and its processes take. */
const KERNEL_BYTES = 48 * MIB;

/**
 * The memory of a machine that a tool can use at least: its limit as a power of two, so that few different
 * machines are saved.
 */
export function toolMemory(limit: number): number {
  return powerOfTwo(MICROVM_DEFAULTS.memoryBytes, limit);
}

/**
 * The memory of a machine: a power of two.
 *
 * @param toolBytes What the tool can use.
 * @param imageBytes The size of the machine's files. They are in memory twice while it boots.
 */
export function machineBytes(toolBytes: number, imageBytes: number): number {
  return powerOfTwo(2 * MICROVM_DEFAULTS.memoryBytes, toolBytes + 2 * imageBytes + KERNEL_BYTES);
}

function powerOfTwo(least: number, needed: number): number {
  let bytes = least;
  while (bytes < needed && bytes < MOST_BYTES) bytes *= 2;
  return bytes;
}
