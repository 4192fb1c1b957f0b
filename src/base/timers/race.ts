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
export function race<T>(
  work: Promise<T>,
  { timeoutMs, signals = [] }: RaceLimits,
): Promise<T | "timeout" | "aborted"> {
  // Not an async function: while a call waits for a person, its state would take more memory than the question.
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    const stop = (): void => {
      clearTimeout(timer);
      for (const signal of signals) signal?.removeEventListener("abort", onAbort);
    };
    const onAbort = (): void => {
      stop();
      resolve("aborted");
    };
    work.then(
      (value) => {
        stop();
        resolve(value);
      },
      (error: unknown) => {
        stop();
        reject(error);
      },
    );
    if (signals.some((signal) => signal?.aborted)) {
      resolve("aborted");
      return;
    }
    for (const signal of signals) signal?.addEventListener("abort", onAbort, { once: true });
    if (timeoutMs === undefined) return;
    timer = setTimeout(
      () => {
        stop();
        resolve("timeout");
      },
      Math.min(timeoutMs, MAX_DELAY_MS),
    );
  });
}
