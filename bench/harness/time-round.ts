import { getHeapStatistics } from "node:v8";
import type { OpenCase } from "./case.ts";
import { type Distribution, distribution, percentile } from "./statistics.ts";

/** The result of one round of one case. Times are in µs per run. */
export interface Round {
  readonly p50: number;
  readonly p99: number;
  readonly distribution: Distribution;
  /** How many runs are timed together. */
  readonly batch: number;
  /** How many bytes of heap one run allocates in its thread, including `before`. */
  readonly bytes: number;
  /** The case's other measurements. */
  readonly observed: Readonly<Record<string, number>>;
}

const SHORT_US = 20;
const MAX_BATCH = 64;

/**
 * Runs a case for this many milliseconds, at least once. Short work is timed in batches, because reading the clock
 * costs as much as the work. Its percentiles are those of the batch means.
 */
export async function timeRound(subject: OpenCase, roundMs: number): Promise<Round> {
  const endBeside = await subject.beside?.();
  try {
    return await timeRuns(subject, roundMs);
  } finally {
    await endBeside?.();
  }
}

async function timeRuns(subject: OpenCase, roundMs: number): Promise<Round> {
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
