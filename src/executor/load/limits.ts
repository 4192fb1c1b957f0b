import { MAX_WALL_TIME_MS } from "../../policy/grant/limits.ts";
import { MAX_REQUEST_BYTES } from "../../remote-protocol/http.ts";
import type { CallWindowBounds } from "../once/call-window.ts";

/** How much an executor takes on. */
export interface ExecutorLimits {
  /** Calls that run at once. Default: 512. */
  readonly inFlight: number;
  /** Calls that wait for their turn. Default: 4,096. */
  readonly queued: number;
  /** The largest body of a request. Default: 4 MiB. */
  readonly bodyBytes: number;
  /**
   * How long a request may take to arrive, and as long again its answer, once it is complete, to be read, in ms.
   * Default: 30,000.
   */
  readonly requestMs: number;
  /** The longest wall time that any call gets, in ms. Default: 600,000. */
  readonly callMs: number;
  /** How long calls may go on once the executor was told to end, in ms. Default: 10,000. */
  readonly drainMs: number;
  /** What is remembered, so that no call runs twice. Default: 100,000 calls, 64 MiB, 10 minutes. */
  readonly window: CallWindowBounds;
}

/** The limits of an executor that is told nothing else. */
export const EXECUTOR_DEFAULT_LIMITS: ExecutorLimits = Object.freeze({
  inFlight: 512,
  queued: 4_096,
  bodyBytes: MAX_REQUEST_BYTES,
  requestMs: 30_000,
  callMs: 600_000,
  drainMs: 10_000,
  window: Object.freeze({ calls: 100_000, bytes: 64 * 1_024 * 1_024, ageMs: 600_000 }),
});

/** Bytes of the bodies that are held at once, in largest bodies. */
export const HELD_BODIES = 64;

/**
 * Completes limits.
 *
 * @throws {TypeError} when one is not a positive integer, or a time is longer than a timer can be.
 */
export function completeLimits(given: Partial<ExecutorLimits> = {}): ExecutorLimits {
  const limits = { ...EXECUTOR_DEFAULT_LIMITS, ...given };
  const { window, ...others } = limits;
  for (const [name, value] of Object.entries({ ...others, ...window })) {
    const max = name.endsWith("Ms") ? MAX_WALL_TIME_MS : Number.MAX_SAFE_INTEGER;
    if (!Number.isSafeInteger(value) || value < 1 || value > max) {
      throw new TypeError(`the limit '${name}' must be an integer from 1 to ${max}`);
    }
  }
  return limits;
}
