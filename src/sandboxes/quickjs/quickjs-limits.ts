import type { LimitName, ResourceLimits } from "../../policy/grant/limits.ts";
import { MIN_MEMORY_BYTES } from "./engine/engine-binary.ts";

/** Limits of which none is left out: each is enforced on every guest. */
export type QuickJsLimits = Required<ResourceLimits>;

/** The most stack that a guest gets: beyond it, V8's stack would overflow first in the engine's parser. */
const MAX_STACK_BYTES = 256 * 1_024;

/** The least stack with which the engine still does ordinary work. */
const MIN_STACK_BYTES = 32 * 1_024;

/** The limits of a call whose grant names none. */
export const QUICKJS_DEFAULT_LIMITS: QuickJsLimits = Object.freeze({
  wallTimeMs: 30_000,
  memoryBytes: 64 * 1_024 * 1_024,
  outputBytes: 1_024 * 1_024,
  stackBytes: MAX_STACK_BYTES,
  logLines: 1_000,
  nestedCalls: 16,
  fileBytes: 16 * 1_024 * 1_024,
  netBytes: 16 * 1_024 * 1_024,
});

/** Limits with the defaults for those that are left out. */
export function completeLimits(limits: ResourceLimits): QuickJsLimits {
  // The engine's are complete: nothing is made for each call.
  for (const name in QUICKJS_DEFAULT_LIMITS) {
    if (limits[name as LimitName] === undefined) return { ...QUICKJS_DEFAULT_LIMITS, ...limits };
  }
  return limits as QuickJsLimits;
}

/**
 * The first limit that cannot be enforced: the engine does not run in less than 16 MiB of memory or 32 KiB of
 * stack, and gives no more than 256 KiB of stack.
 */
export function unenforceableLimit(limits: ResourceLimits): LimitName | undefined {
  const { memoryBytes, stackBytes } = limits;
  if (memoryBytes !== undefined && memoryBytes < MIN_MEMORY_BYTES) return "memoryBytes";
  if (stackBytes !== undefined && (stackBytes < MIN_STACK_BYTES || stackBytes > MAX_STACK_BYTES)) {
    return "stackBytes";
  }
  return undefined;
}
