import { DelegateBackoff, handleWhenResult, type RetryPolicy, retry } from "cockatiel";
import type { Verdict } from "./verdict.ts";

/** How often a call that cannot have run is retried, at most. */
const MAX_RETRIES = 5;
/** The delay before the first retry, in ms; it doubles with each one. */
const FIRST_WAIT_MS = 50;

/** The result of one request, and after how many ms the call is retried; `undefined` if it is not. */
export type Attempt = Verdict & { readonly againInMs?: number };

/** Retries as long as `againInMs` is set. Its timers are unreferenced: the calls' clock keeps the process alive. */
export const RETRIES: RetryPolicy = retry(
  handleWhenResult((attempt) => (attempt as Attempt).againInMs !== undefined),
  {
    maxAttempts: MAX_RETRIES,
    backoff: new DelegateBackoff(({ result }) =>
      "value" in result ? ((result.value as Attempt).againInMs ?? 0) : 0,
    ),
  },
).dangerouslyUnref();

/** The delay after a number of attempts, in ms: exponential backoff with jitter. */
export function waitMs(attempts: number): number {
  return FIRST_WAIT_MS * 2 ** (attempts - 1) * (0.75 + Math.random() / 2);
}
