import type { Round } from "./time-round.ts";

/** Long enough for a p50 that shows whether the code became faster. */
const ROUND_MS = 200;
/** A p50 below this share of the best one so far is a new best. */
const NEW_BEST = 0.95;
/** A case is warm after this many rounds without a new best. Its time can stagnate for a second before it halves. */
const STEADY_ROUNDS = 5;

/** Something that can be warmed up by running it for a number of milliseconds. */
export interface Warmable {
  round(roundMs: number): Promise<Pick<Round, "p50">>;
}

/**
 * Runs a case until its p50 no longer falls, because each thread optimises its code while it runs.
 *
 * @param mostMs No round starts after this many milliseconds, except the first.
 */
export async function warmUp(subject: Warmable, mostMs: number): Promise<void> {
  const end = performance.now() + mostMs;
  let { p50: best } = await subject.round(ROUND_MS);
  let steady = 0;
  while (steady < STEADY_ROUNDS && performance.now() < end) {
    const { p50 } = await subject.round(ROUND_MS);
    const isBest = p50 < best * NEW_BEST;
    if (isBest) best = p50;
    steady = isBest ? 0 : steady + 1;
  }
}
