import { shown } from "../../../rendering/shown.ts";
import type { ShownText } from "../../../rendering/shown-text.ts";
import type { BenchResult } from "./result.ts";

/** What a result must not exceed. Default of each: it may be anything. */
export interface Thresholds {
  /** Milliseconds. */
  readonly p50: number | undefined;
  /** Milliseconds. */
  readonly p99: number | undefined;
  /** The share of failed calls, 0 to 1. */
  readonly failed: number | undefined;
}

/** Says which thresholds a result exceeds. */
export function exceeded({ latencyMs, failed }: BenchResult, thresholds: Thresholds): readonly ShownText[] {
  const missed: ShownText[] = [];
  for (const name of ["p50", "p99"] as const) {
    const most = thresholds[name];
    if (most !== undefined && latencyMs[name] > most)
      missed.push(shown`${name} is ${latencyMs[name]} ms: more than ${most} ms`);
  }
  if (thresholds.failed !== undefined && failed > thresholds.failed)
    missed.push(shown`${percent(failed)} of the calls failed: more than ${percent(thresholds.failed)}`);
  return missed;
}

/** Formats a share for people: `0.25%`. */
export function percent(share: number): string {
  return `${Number((share * 100).toFixed(3))}%`;
}
