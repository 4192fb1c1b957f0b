import { createHistogram, type RecordableHistogram } from "node:perf_hooks";

/** The percentiles of a report. */
export const PERCENTILES = { p50: 50, p90: 90, p99: 99, p999: 99.9 } as const;

/** Latencies in milliseconds. */
export interface LatencySummary {
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
  readonly mean: number;
}

/** How many latencies lie between two bounds, in milliseconds. The first band has what is less than its upper bound. */
export interface Band {
  readonly from: number;
  readonly to: number;
  readonly count: number;
}

/** The bounds of the bands: 1, 2 and 5 of each power of ten, from 1 µs to 1,000 s. */
const BOUNDS = Array.from(
  { length: 28 },
  (_, index) => (([1, 2, 5][index % 3] ?? 1) * 10 ** Math.floor(index / 3)) / 1_000,
);

/** Collects latencies: percentiles with three significant digits, in memory of a fixed size. */
export class Latencies {
  readonly #histogram: RecordableHistogram = createHistogram({ figures: 3 });
  readonly #counts = new Array<number>(BOUNDS.length).fill(0);

  /** @param ms At least 0. */
  record(ms: number): void {
    // The histogram has whole nanoseconds above 0.
    this.#histogram.record(Math.max(1, Math.round(ms * 1e6)));
    const found = BOUNDS.findIndex((bound) => ms < bound);
    const band = found === -1 ? BOUNDS.length - 1 : found;
    this.#counts[band] = (this.#counts[band] ?? 0) + 1;
  }

  /** Returns zeros if there are no latencies. */
  summary(): LatencySummary {
    const { count, max, mean } = this.#histogram;
    if (count === 0) return { p50: 0, p90: 0, p99: 0, p999: 0, max: 0, mean: 0 };
    const at = (percentile: number): number => toMs(this.#histogram.percentile(percentile));
    const { p50, p90, p99, p999 } = PERCENTILES;
    return { p50: at(p50), p90: at(p90), p99: at(p99), p999: at(p999), max: toMs(max), mean: toMs(mean) };
  }

  /** Returns the bands from the first to the last one that has a latency. */
  bands(): readonly Band[] {
    const bands = this.#counts.map((count, index) => ({
      from: BOUNDS[index - 1] ?? 0,
      to: BOUNDS[index] ?? 0,
      count,
    }));
    const first = bands.findIndex(({ count }) => count > 0);
    const last = bands.findLastIndex(({ count }) => count > 0);
    return first === -1 ? [] : bands.slice(first, last + 1);
  }
}

/** Milliseconds with a resolution of one microsecond. */
function toMs(nanoseconds: number): number {
  return Math.round(nanoseconds / 1_000) / 1_000;
}
