import { availableParallelism, cpus } from "node:os";
import { isNewerFormat, newerFormatText } from "../../../base/file-format.ts";
import type { Band, LatencySummary } from "./latencies.ts";

const NEWEST = 1;
/** The format of saved results. */
const FORMAT = `sandgate-bench/${NEWEST}`;

/** The machine of a result: results of different machines cannot be compared. */
export interface BenchMachine {
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
  /** Whether a rate could not be retained. */
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
