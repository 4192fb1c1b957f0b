import { firstLimitBesides, type LimitName, type ResourceLimits } from "../../policy/grant/limits.ts";
import { MIN_MEMORY_BYTES } from "./engine/engine-binary.ts";

/** A complete set of limits: each of them is enforced on every guest. */
export type QuickJsLimits = Required<
  Pick<
    ResourceLimits,
    | "wallTimeMs"
    | "memoryBytes"
    | "outputBytes"
    | "stackBytes"
    | "logLines"
    | "nestedCalls"
    | "fileBytes"
    | "netBytes"
    | "waitTimeMs"
  >
>;

/** How long a guest may take to notice its deadline before its thread is ended. */
export const INTERRUPT_GRACE_MS = 50;

/** The largest stack of a guest: with more, V8's stack would overflow first in the engine's parser. */
const MAX_STACK_BYTES = 256 * 1_024;

/** The smallest stack with which the engine can run ordinary code. */
const MIN_STACK_BYTES = 32 * 1_024;

/** The limits that apply if the grant does not set them. */
export const QUICKJS_DEFAULT_LIMITS: QuickJsLimits = Object.freeze({
  wallTimeMs: 30_000,
  memoryBytes: 64 * 1_024 * 1_024,
  outputBytes: 1_024 * 1_024,
  stackBytes: MAX_STACK_BYTES,
  logLines: 1_000,
  nestedCalls: 16,
  fileBytes: 16 * 1_024 * 1_024,
  netBytes: 16 * 1_024 * 1_024,
  waitTimeMs: 7 * 24 * 60 * 60_000,
});

/** Those with a default. */
const ENFORCED = Object.keys(QUICKJS_DEFAULT_LIMITS) as readonly LimitName[];

/** Adds the defaults of missing limits. */
export function completeLimits(limits: ResourceLimits): QuickJsLimits {
  // The engine passes complete limits, so calls do not allocate here.
  for (const name in QUICKJS_DEFAULT_LIMITS) {
    if (limits[name as LimitName] === undefined) return { ...QUICKJS_DEFAULT_LIMITS, ...limits };
  }
  return limits as QuickJsLimits;
}

/**
 * Returns the first limit that cannot be enforced. The engine needs at least 16 MiB of memory and 32 KiB of stack,
 * and supports at most 256 KiB of stack.
 */
export function unenforceableLimit(limits: ResourceLimits): LimitName | undefined {
  const { memoryBytes, stackBytes } = limits;
  if (memoryBytes !== undefined && memoryBytes < MIN_MEMORY_BYTES) return "memoryBytes";
  if (stackBytes !== undefined && (stackBytes < MIN_STACK_BYTES || stackBytes > MAX_STACK_BYTES)) {
    return "stackBytes";
  }
  return firstLimitBesides(limits, ENFORCED);
}
