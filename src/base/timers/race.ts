import { MAX_DELAY_MS } from "./deadline-timer.ts";

/** What ends a {@link race} besides the work itself. */
export interface RaceLimits {
  /** Milliseconds until the race ends with `"timeout"`; at most 2^31 - 1 are waited. Default: no timeout. */
  readonly timeoutMs?: number;
  /** Any of them ends the race with `"aborted"`; one that is aborted already ends it at once. */
  readonly signals?: readonly (AbortSignal | undefined)[];
}

/**
 * Waits for work until a timeout or an abort, whichever comes first. The work itself goes on, since others may share
 * it; a result or an error that comes too late is ignored.
 *
 * @returns the work's value, `"timeout"` or `"aborted"`; rejects if the work does.
 */
export function race<T>(
  work: Promise<T>,
  limits: RaceLimits & { readonly timeoutMs?: undefined },
): Promise<T | "aborted">;
export function race<T>(work: Promise<T>, limits: RaceLimits): Promise<T | "timeout" | "aborted">;
export async function race<T>(
  work: Promise<T>,
  { timeoutMs, signals = [] }: RaceLimits,
): Promise<T | "timeout" | "aborted"> {
  const { promise: end, resolve, reject } = Promise.withResolvers<T | "timeout" | "aborted">();
  const onAbort = (): void => resolve("aborted");
  const timer =
    timeoutMs === undefined
      ? undefined
      : setTimeout(() => resolve("timeout"), Math.min(timeoutMs, MAX_DELAY_MS));
  for (const signal of signals) {
    if (signal?.aborted) onAbort();
    signal?.addEventListener("abort", onAbort, { once: true });
  }
  work.then(resolve, reject);
  try {
    return await end;
  } finally {
    clearTimeout(timer);
    for (const signal of signals) signal?.removeEventListener("abort", onAbort);
  }
}
