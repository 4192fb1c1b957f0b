import { ExponentialBackoff, handleAll, retry } from "cockatiel";
import type { MaybePromise } from "../../base/promises.ts";

/** How often an operation is tried again, after about 0.1, 0.2 and 0.4 s. */
const RETRIES = retry(handleAll, {
  maxAttempts: 3,
  backoff: new ExponentialBackoff({ initialDelay: 100, maxDelay: 1_000 }),
});

/**
 * Does something with a store, again if it fails: a program that may have waited for days ends when it cannot be read or taken.
 *
 * @throws as a rejection, what the last attempt threw.
 */
export async function repeated<Result>(operation: () => MaybePromise<Result>): Promise<Result> {
  return RETRIES.execute(async () => operation());
}
