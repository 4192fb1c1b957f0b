import { DelegateBackoff, handleWhenResult, type RetryPolicy, retry } from "cockatiel";
import type { Verdict } from "./verdict.ts";

/** How often a call may be asked for again where nothing happened. */
const MAX_RETRIES = 5;
/** The wait before the first time, in ms; it doubles. */
const FIRST_WAIT_MS = 50;

/** What one request came to, and after how many ms the call is asked for again. */
export type Attempt = Verdict & { readonly againInMs?: number };

/** Asks again as long as an attempt says so. The clock keeps the process alive meanwhile. */
export const RETRIES: RetryPolicy = retry(
  handleWhenResult((attempt) => (attempt as Attempt).againInMs !== undefined),
  {
    maxAttempts: MAX_RETRIES,
    backoff: new DelegateBackoff(({ result }) =>
      "value" in result ? ((result.value as Attempt).againInMs ?? 0) : 0,
    ),
  },
).dangerouslyUnref();

/** How long to wait after so many attempts, in ms: nobody else's calls come at the same time. */
export function waitMs(attempts: number): number {
  return FIRST_WAIT_MS * 2 ** (attempts - 1) * (0.75 + Math.random() / 2);
}
