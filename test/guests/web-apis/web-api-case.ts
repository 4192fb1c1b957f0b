import type { Capabilities } from "../../../src/policy/grant/capabilities.ts";

/** The deadline of each call. */
export const WALL_TIME_MS = 1_000;

/** The memory limit of each call. */
export const MEMORY_BYTES: number = 64 * 2 ** 20;

/**
 * What the process may take for a call: the guest's memory twice, and what the host needs for texts and bytes of 8 MiB
 * and what they become.
 */
export const MAX_TAKEN_MIB = 320;

/** A QuickJS guest that has the host of its web APIs work as long as it can. */
export interface WebApiCase {
  /** Unique. */
  readonly name: string;
  /** Code that runs again and again. What it throws is ignored. */
  readonly code: string;
  /** Code that runs once, before it. */
  readonly before?: string;
  /** What it is granted. Default: nothing. */
  readonly capabilities?: Capabilities;
}

/** What became of a guest's call. */
export interface WebApiReport {
  /** How the call ended. */
  readonly code: string;
  /** How long after its deadline its work ended. */
  readonly lateMs: number;
  readonly mayStillRun: boolean;
  /** What the process took more than after a harmless call. */
  readonly takenMiB: number;
  /** Whether a harmless call succeeded afterwards. */
  readonly echoes: boolean;
}
