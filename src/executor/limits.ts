import { MAX_DELAY_MS } from "../base/timers.ts";
import { refuseUnknown } from "../base/unknown-names.ts";
import type { HttpLimits } from "../http/open-server.ts";
import { MAX_REQUEST_BYTES } from "../remote-protocol/http.ts";

/** Bounds of what is retained about calls that have ended. */
export interface CallWindowBounds {
  /** Maximum number of calls. */
  readonly calls: number;
  /** Maximum bytes of their executions. */
  readonly bytes: number;
  /** Maximum age in ms. */
  readonly ageMs: number;
}

/** Limits of an executor's load. */
export interface ExecutorLimits extends HttpLimits {
  /** Maximum number of running calls. Default: 512. */
  readonly inFlight: number;
  /** Maximum number of queued calls. Default: 4,096. */
  readonly queued: number;
  /**
   * Milliseconds that a call may wait in all until it begins, in the queue and for its sandbox. One that waited longer is
   * refused with `deadline_passed`. Default: 30,000.
   */
  readonly maxWaitMs: number;
  /** Maximum wall time of any call, in ms. Default: 600,000. */
  readonly callMs: number;
  /**
   * Bounds of the memory that prevents calls from running twice. Default: 100,000 calls, 64 MiB, 10 minutes.
   */
  readonly window: CallWindowBounds;
}

/** The defaults of {@link ExecutorLimits}. */
export const EXECUTOR_DEFAULT_LIMITS: ExecutorLimits = Object.freeze({
  inFlight: 512,
  queued: 4_096,
  connections: 10_000,
  connectionsPerAddress: 5_000,
  bodyBytes: MAX_REQUEST_BYTES,
  requestMs: 30_000,
  maxWaitMs: 30_000,
  callMs: 600_000,
  drainDelayMs: 0,
  drainMs: 10_000,
  window: Object.freeze({ calls: 100_000, bytes: 64 * 1_024 * 1_024, ageMs: 600_000 }),
});

/**
 * Adds the defaults to limits.
 *
 * @throws {TypeError} if a limit is not a positive integer (`drainDelayMs` may be 0), or a time exceeds the longest delay of a timer.
 */
export function completeLimits(given: Partial<ExecutorLimits> = {}): ExecutorLimits {
  refuseUnknown(given, EXECUTOR_DEFAULT_LIMITS, "limits of an executor");
  const limits = { ...EXECUTOR_DEFAULT_LIMITS, ...given };
  refuseUnknown(limits.window, EXECUTOR_DEFAULT_LIMITS.window, "limits.window of an executor");
  const { window, ...others } = limits;
  for (const [name, value] of Object.entries({ ...others, ...window })) {
    const max = name.endsWith("Ms") ? MAX_DELAY_MS : Number.MAX_SAFE_INTEGER;
    const min = name === "drainDelayMs" ? 0 : 1;
    if (!Number.isSafeInteger(value) || value < min || value > max) {
      throw new TypeError(`the limit '${name}' must be an integer from ${min} to ${max}`);
    }
  }
  return limits;
}
