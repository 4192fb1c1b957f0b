import { busyWarning, isBusy } from "./busy.ts";
import type { Figure } from "./figures.ts";
import type { Machine } from "./machine.ts";
import type { Effort, QuestionResult } from "./measure.ts";
import { MAX_NOISE, noisyFloors } from "./report.ts";

/** Returns a question's figures as a Markdown table, with a warning if they are too noisy. */
export function questionTable(result: QuestionResult): string {
  const { name, figures, busy } = result;
  const lines = [
    `### ${name}`,
    "",
    "| case | p50 µs | p99 µs | ratio | middle half | above the floor, µs | calls/s | heap bytes per call |",
    "|---|--:|--:|--:|--:|--:|--:|--:|",
    ...figures.map((figure) => row(figure, isBusy(busy))),
  ];
  for (const figure of figures) {
    const seen = Object.entries(figure.observed);
    if (seen.length === 0) continue;
    lines.push(
      "",
      `${figure.name}: ${seen.map(([what, n]) => `${Number.isInteger(n) ? n : round(n)} ${what}`).join(", ")}`,
    );
  }
  const warning = busyWarning(busy);
  if (warning !== undefined) lines.push("", warning);
  const noisy = noisyFloors(result).map(({ name, noise }) => `'${name}' (${(noise * 100).toFixed(0)} %)`);
  if (noisy.length > 0) {
    const what = `the middle half of the rounds varied by more than ${MAX_NOISE * 100} %`;
    lines.push("", `**Too noisy**: ${what} for the floor ${noisy.join(", ")}`);
  }
  return `${lines.join("\n")}\n`;
}

/** `isLoaded` marks a row that was measured beside other processes. */
function row(
  { name, p50, p99, ratio, spread, beyondFloor, callsPerSecond, bytes, floor }: Figure,
  isLoaded: boolean,
): string {
  const isFloor = name === floor;
  const half = `${spread.least.toFixed(2)}–${spread.most.toFixed(2)}`;
  const cells = [
    isLoaded ? `${name} ⚠` : name,
    round(p50),
    round(p99),
    isFloor ? "1" : ratio.toFixed(2),
    isFloor ? "" : half,
    isFloor ? "" : round(beyondFloor),
    round(callsPerSecond),
    bytes.toFixed(0),
  ];
  return `| ${cells.join(" | ")} |`;
}

/** Returns the line below the tables, which describes the machine and the run. */
export function machineLine({ cpu, cores, system, node, packages, load }: Machine, effort: Effort): string {
  const versions = Object.entries(packages).map(([name, version]) => `${name} ${version}`);
  return (
    `${cpu}, ${cores} cores, ${system}, Node ${node}, ${versions.join(", ")}; load ${load.before} before and ` +
    `${load.after} after; medians of ${effort.rounds} rounds of ${effort.roundMs} ms, after up to ${effort.warmUpMs} ms of warm-up`
  );
}

function round(value: number): string {
  return value >= 100 || value <= -100 ? value.toFixed(0) : value.toFixed(1);
}
