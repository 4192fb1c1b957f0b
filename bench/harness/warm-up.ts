import type { Round } from "./time-round.ts";

/** Long enough for a p50 that says whether code became faster. */
const ROUND_MS = 200;
/** A p50 below this share of the best one so far is a new best. */
const NEW_BEST = 0.95;
/** Rounds without a new best after which a case is warm: its time may stand still for a second before it halves. */
const STEADY_ROUNDS = 5;

/** What can be warmed: a case that runs for as many milliseconds as it is told. */
export interface Warmable {
  round(roundMs: number): Promise<Pick<Round, "p50">>;
}

/**
 * Runs a case until its p50 no longer falls: code is compiled for what it is seen to do, in each of its threads.
 *
 * @param mostMs No round begins after as many milliseconds, but the first one.
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
