import { getHeapStatistics } from "node:v8";
import type { OpenCase } from "./case.ts";
import { type Distribution, distribution, percentile } from "./statistics.ts";

/** What one round of one case came to; times in µs for each run. */
export interface Round {
  readonly p50: number;
  readonly p99: number;
  readonly distribution: Distribution;
  /** How many runs share one look at the clock. */
  readonly batch: number;
  /** Bytes of heap that one run allocates in its thread, with what has to be done before it. */
  readonly bytes: number;
  /** What else the case saw. */
  readonly observed: Readonly<Record<string, number>>;
}

const SHORT_US = 20;
const MAX_BATCH = 64;

/**
 * Runs a case for that long, at least once. Short work is timed in batches: one look at the clock costs as much
 * as the work, so that a percentile of it is one of the batches' means.
 */
export async function timeRound(subject: OpenCase, roundMs: number): Promise<Round> {
  const samples: number[] = [];
  let batch = 1;
  let runs = 0;
  const allocated = getHeapStatistics().total_allocated_bytes;
  const end = performance.now() + roundMs;
  while (performance.now() < end || samples.length === 0) {
    await subject.before?.();
    const start = performance.now();
    let answer: unknown;
    for (let i = 0; i < batch; i++) answer = await subject.run();
    const elapsedUs = (performance.now() - start) * 1_000;
    subject.check(answer);
    runs += batch;
    if (elapsedUs < SHORT_US && batch < MAX_BATCH && subject.before === undefined) batch *= 2;
    else samples.push(elapsedUs / batch);
  }
  const bytes = getHeapStatistics().total_allocated_bytes - allocated;
  return {
    p50: percentile(samples, 0.5),
    p99: percentile(samples, 0.99),
    distribution: distribution(samples),
    batch,
    bytes: bytes / runs,
    observed: subject.observed?.() ?? {},
  };
}
