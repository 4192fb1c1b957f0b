import { MAX_WALL_TIME_MS, type ResourceLimits, strictestLimits } from "../../policy/grant/limits.ts";
import type { SideEffects } from "../../tool/side-effects.ts";

/**
 * The wall time of calls whose grant and sandbox set none, in ms: for tools that only compute, read or write, and for
 * those that run commands or act elsewhere.
 */
export interface ClassTimeouts {
  /** For the classes `none`, `read` and `write`. */
  readonly quick: number;
  /** For the classes `execute`, `network` and `destructive`. */
  readonly slow: number;
}

/** Default of `DispatchContext.timeouts`. */
export const DEFAULT_TIMEOUTS: ClassTimeouts = { quick: 60_000, slow: 600_000 };

/** @throws {TypeError} unless both time-outs are valid wall times. */
export function checkTimeouts(timeouts: ClassTimeouts | "none"): void {
  if (timeouts === "none") return;
  if (typeof timeouts !== "object" || timeouts === null) {
    throw new TypeError(`timeouts must be an object with quick and slow, or "none", not ${String(timeouts)}`);
  }
  const { quick, slow } = timeouts;
  checkTimeout("quick", quick);
  checkTimeout("slow", slow);
}

function checkTimeout(name: keyof ClassTimeouts, value: number): void {
  if (Number.isSafeInteger(value) && value >= 1 && value <= MAX_WALL_TIME_MS) return;
  throw new TypeError(
    `timeouts.${name} must be an integer from 1 to ${MAX_WALL_TIME_MS}, not ${String(value)}`,
  );
}

/** A record, so the compiler reports a class that is missing. */
const PACES: Record<SideEffects, keyof ClassTimeouts> = {
  none: "quick",
  read: "quick",
  write: "quick",
  execute: "slow",
  network: "slow",
  destructive: "slow",
};

/**
 * The limits of a call: those of its grant, and for the others the defaults of its sandbox. The wall time is by default
 * that of the tool, else that of the sandbox, else that of the tool's class. A tool's own wall time never exceeds the
 * grant's.
 */
export function limitsOf(
  granted: ResourceLimits,
  defaults: ResourceLimits,
  { timeoutMs, sideEffects }: { readonly timeoutMs?: number | undefined; readonly sideEffects: SideEffects },
  timeouts: ClassTimeouts | "none",
): ResourceLimits {
  const limits = { ...defaults, ...granted };
  if (timeoutMs !== undefined) return { ...limits, ...strictestLimits(granted, { wallTimeMs: timeoutMs }) };
  if (limits.wallTimeMs !== undefined || timeouts === "none") return limits;
  return { ...limits, wallTimeMs: timeouts[PACES[sideEffects]] };
}
