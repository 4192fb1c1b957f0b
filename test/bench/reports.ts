import type { Figure } from "../../bench/harness/figures.ts";
import type { Report } from "../../bench/harness/report.ts";

/** Returns a figure with default values for what a test does not set. */
export function figure(parts: Partial<Figure> & Pick<Figure, "name" | "ratio">): Figure {
  return {
    p50: parts.ratio,
    p99: parts.ratio,
    spread: { least: parts.ratio, most: parts.ratio },
    beyondFloor: parts.ratio - 1,
    noise: 0.01,
    callsPerSecond: 1,
    bytes: 0,
    batch: 1,
    distribution: {},
    observed: {},
    floor: "floor",
    ...parts,
  };
}

/** Returns the report of a run with one question. */
export function report(...figures: readonly Figure[]): Report {
  const machine: Report["machine"] = {
    cpu: "any",
    cores: 2,
    memoryGiB: 4,
    system: "any",
    node: "26",
    packages: {},
    load: { before: 0, after: 0 },
  };
  const questions = [{ suite: "host", name: "host", busy: 0, figures }];
  return { command: "npm run bench", machine, effort: { rounds: 1, roundMs: 1, warmUpMs: 0 }, questions };
}
