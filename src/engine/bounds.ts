import { type Capabilities, commonCapabilities } from "../policy/grant/capabilities.ts";
import { checkGrant, type ExecutionGrant } from "../policy/grant/execution-grant.ts";
import { MAX_WALL_TIME_MS, type ResourceLimits, strictestLimits } from "../policy/grant/limits.ts";
import type { SandboxMode } from "../tool/sandbox-mode.ts";
import type { SideEffects } from "../tool/side-effects.ts";

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
 * Limits, capabilities and sandboxes that a call may not exceed, whatever the policy grants: an executor uses what its client
 * granted. Both must have passed `checkLimits` and `checkCapabilities`.
 */
export interface UpperBound {
  /** All of them are required: the call is refused if one cannot be enforced. */
  readonly limits: ResourceLimits;
  readonly capabilities: Capabilities;
  /** The sandboxes in which the call may run. Default: any. */
  readonly sandboxes?: readonly SandboxMode[];
}

/**
 * Returns the grant with the first sandbox that both the policy and the bound accept; `undefined` if none.
 *
 * @param accepted The sandboxes that the policy accepts, best first. Default: that of the grant.
 */
export function boundSandbox(
  granted: ExecutionGrant,
  { sandboxes }: UpperBound,
  accepted: readonly SandboxMode[] = [granted.sandbox],
): ExecutionGrant | undefined {
  const sandbox =
    sandboxes === undefined ? granted.sandbox : accepted.find((mode) => sandboxes.includes(mode));
  if (sandbox === granted.sandbox) return granted;
  return sandbox && checkGrant({ ...granted, sandbox });
}

/** Narrows a checked grant to an upper bound: the lower limits, and the capabilities that both give. Frozen. */
export function boundGrant(granted: ExecutionGrant, { limits, capabilities }: UpperBound): ExecutionGrant {
  const { sandbox, isolation } = granted;
  return Object.freeze({
    sandbox,
    ...(isolation && { isolation }),
    limits: Object.freeze(strictestLimits(granted.limits, limits)),
    capabilities: Object.freeze(commonCapabilities(capabilities, granted.capabilities)),
  });
}

/** The limits to enforce under an upper bound, which never replaces a stricter default. Frozen. */
export function boundLimits(own: ResourceLimits, { limits }: UpperBound): ResourceLimits {
  return Object.freeze(strictestLimits(own, limits));
}

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
