import { getHeapStatistics } from "node:v8";

/** One way to do what a question asks about. The answer is checked while it is timed. */
export interface Case {
  readonly name: string;
  /** Does the work once. */
  run(): unknown;
  /** Throws when the answer is wrong. */
  check(answer: unknown): void;
}

/** A question: what one thing costs beside another, both measured in the same rounds. */
export interface Question {
  readonly name: string;
  /** What the others are compared with; what is inside its timed region is said in its name. */
  readonly floor: Case;
  readonly cases: readonly Case[];
  close?(): Promise<void>;
}

/** How much is measured. */
export interface Effort {
  readonly rounds: number;
  /** Milliseconds that each case gets in each round. */
  readonly roundMs: number;
}

/** What was measured of one case: microseconds, medians over the rounds. */
export interface Figure {
  readonly name: string;
  readonly p50: number;
  readonly p99: number;
  /** The median over rounds of this case's p50 divided by the floor's, and how far the rounds spread. */
  readonly ratio: number;
  readonly spread: readonly [least: number, most: number];
  /** Bytes of heap that one run allocates in this thread. */
  readonly bytes: number;
}

/**
 * Measures a question. Rounds are interleaved: each case takes its turn in each round, and is divided by the
 * floor of that same round, so that a machine that changes its speed changes both.
 */
export async function measure({ floor, cases }: Question, effort: Effort): Promise<Figure[]> {
  const all = [floor, ...cases];
  for (const each of all) await measureRound(each, effort.roundMs);
  const rounds: Round[][] = [];
  for (let round = 0; round < effort.rounds; round++) {
    const own: Round[] = [];
    for (const each of all) own.push(await measureRound(each, effort.roundMs));
    rounds.push(own);
  }
  return all.map(({ name }, index) => {
    const own = rounds.flatMap((round) => round[index] ?? []);
    const ratios = rounds.map((round) => (round[index]?.p50 ?? 0) / (round[0]?.p50 ?? 1));
    return {
      name,
      p50: percentile(
        own.map(({ p50 }) => p50),
        0.5,
      ),
      p99: percentile(
        own.map(({ p99 }) => p99),
        0.5,
      ),
      ratio: percentile(ratios, 0.5),
      spread: [Math.min(...ratios), Math.max(...ratios)],
      bytes: percentile(
        own.map(({ bytes }) => bytes),
        0.5,
      ),
    };
  });
}

interface Round {
  readonly p50: number;
  readonly p99: number;
  readonly bytes: number;
}

/** Short work is timed in batches: one look at the clock costs as much as the work. */
async function measureRound({ run, check }: Case, roundMs: number): Promise<Round> {
  const samples: number[] = [];
  let batch = 1;
  let runs = 0;
  const allocated = getHeapStatistics().total_allocated_bytes;
  const end = performance.now() + roundMs;
  while (performance.now() < end || samples.length === 0) {
    const start = performance.now();
    let answer: unknown;
    for (let i = 0; i < batch; i++) answer = await run();
    const elapsedUs = (performance.now() - start) * 1_000;
    check(answer);
    runs += batch;
    if (elapsedUs < 20 && batch < 64) batch *= 2;
    else samples.push(elapsedUs / batch);
  }
  const bytes = (getHeapStatistics().total_allocated_bytes - allocated) / runs;
  return { p50: percentile(samples, 0.5), p99: percentile(samples, 0.99), bytes };
}

function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
