import { availableParallelism, cpus } from "node:os";
import { createHistogram, type RecordableHistogram } from "node:perf_hooks";
import { isNewerFormat, newerFormatText } from "../../../base/own-files.ts";

/** The percentiles of a report. */
const PERCENTILES = { p50: 50, p90: 90, p99: 99, p999: 99.9 } as const;

/** Latencies in milliseconds. */
interface LatencySummary {
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
  readonly mean: number;
}

/**
 * How many latencies lie between two bounds, in milliseconds. The first band has everything below its upper
 * bound.
 */
interface Band {
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

const NEWEST = 1;
/** The format of saved results. */
const FORMAT = `sandgate-bench/${NEWEST}`;

/** The machine of a result: results of different machines cannot be compared. */
interface BenchMachine {
  readonly cpu: string;
  readonly cores: number;
  readonly node: string;
  /** The load average over one minute before the calls began. */
  readonly load: number;
}

/** What `sandgate bench` measured, as it is saved and printed as JSON. */
export interface BenchResult {
  readonly format: string;
  readonly machine: BenchMachine;
  /** How calls were made. */
  readonly load: { readonly rate?: number; readonly concurrency?: number; readonly calls: number };
  /** Whether the rate could not be sustained. */
  readonly isSaturated: boolean;
  readonly callsPerSecond: number;
  /** How many calls ended with each outcome: `ok`, or an error's code, and the sandbox. */
  readonly outcomes: Readonly<Record<string, number>>;
  /** The share of calls that failed, 0 to 1. */
  readonly failed: number;
  readonly latencyMs: LatencySummary;
  readonly histogram: readonly Band[];
}

/** Adds format and machine to what was measured. */
export function benchResult(measured: Omit<BenchResult, "format" | "machine">, load: number): BenchResult {
  const machine = {
    cpu: cpus()[0]?.model ?? "unknown",
    cores: availableParallelism(),
    node: process.versions.node,
    load: Number(load.toFixed(2)),
  };
  return { format: FORMAT, machine, ...measured };
}

/**
 * Parses a saved result. Returns `undefined` if it is not one.
 *
 * @throws {TypeError} if it has a newer format.
 */
export function parseBenchResult(text: string): BenchResult | undefined {
  const value = parsed(text);
  const [, number = "0"] = /^sandgate-bench\/([0-9]{1,9})$/.exec(String(value?.format)) ?? [];
  if (isNewerFormat(Number(number), NEWEST)) throw new TypeError(newerFormatText(Number(number), NEWEST));
  const latencies = Object.values(value?.latencyMs ?? {});
  const figures = [value?.callsPerSecond, value?.failed, value?.machine?.cores, ...latencies];
  const isWhole = value?.format === FORMAT && latencies.length === 6 && figures.every(Number.isFinite);
  return isWhole ? (value as BenchResult) : undefined;
}

function parsed(text: string): Partial<BenchResult> | undefined {
  try {
    return JSON.parse(text) ?? undefined;
  } catch {
    return undefined;
  }
}

/** Whether the machines and versions of two results are the same. */
export function isSameMachine({ machine: one }: BenchResult, { machine: other }: BenchResult): boolean {
  return one.cpu === other.cpu && one.cores === other.cores && one.node === other.node;
}

/** Milliseconds with a resolution of one microsecond. */
function toMs(nanoseconds: number): number {
  return Math.round(nanoseconds / 1_000) / 1_000;
}
