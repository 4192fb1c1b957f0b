import { joinShown, shown } from "../../../rendering/shown.ts";
import { ShownText } from "../../../rendering/shown-text.ts";
import { MAX_OUTSTANDING } from "./load.ts";
import { type BenchResult, isSameMachine } from "./result.ts";
import { percent } from "./thresholds.ts";

/** A core's share of load above which other programs change the figures. */
const BUSY_LOAD = 0.3;
const BAR_COLUMNS = 40;
const FIGURES = ["p50", "p90", "p99", "p999", "max"] as const;
const HEADINGS = { p50: "p50", p90: "p90", p99: "p99", p999: "p99.9", max: "max" } as const;

/** Describes a result, and how it compares to an earlier one. */
export function reportOf(result: BenchResult, earlier: BenchResult | undefined): ShownText {
  const { machine, latencyMs, load, callsPerSecond, outcomes, failed } = result;
  const lines = [
    shown`${machine.cpu}, ${machine.cores} cores, Node.js ${machine.node}`,
    ...warningsOf(result, earlier),
    shown`${load.calls} calls, ${describe(load)}: ${callsPerSecond} calls/s, ${percent(failed)} failed`,
    new ShownText(""),
    ...table(latencyMs, earlier?.latencyMs),
    new ShownText(""),
    ...Object.entries(outcomes).map(([outcome, count]) => shown`${String(count).padStart(9)}  ${outcome}`),
    new ShownText(""),
    ...bars(result),
  ];
  if (earlier !== undefined)
    lines.push(
      new ShownText(""),
      shown`calls/s: ${ratio(callsPerSecond, earlier.callsPerSecond)} of ${earlier.callsPerSecond}`,
    );
  return joinShown(lines, "\n");
}

function warningsOf(result: BenchResult, earlier: BenchResult | undefined): readonly ShownText[] {
  const { load, cores } = result.machine;
  return [
    ...(load > cores * BUSY_LOAD
      ? [
          shown`the machine was busy before the calls began (load average ${load}): the figures depend on that`,
        ]
      : []),
    ...(result.isSaturated
      ? [shown`the rate could not be kept: calls stopped beginning when ${MAX_OUTSTANDING} had not ended`]
      : []),
    ...(earlier !== undefined && !isSameMachine(result, earlier)
      ? [
          shown`the earlier result is of another machine or Node.js (${earlier.machine.cpu}, ${earlier.machine.node})`,
        ]
      : []),
  ];
}

function describe({ rate, concurrency }: BenchResult["load"]): string {
  return rate === undefined ? `${concurrency ?? 1} at once` : `${rate} begun per second`;
}

function table(
  now: BenchResult["latencyMs"],
  before: BenchResult["latencyMs"] | undefined,
): readonly ShownText[] {
  const row = (name: string, cells: readonly string[]): ShownText =>
    shown`${name.padEnd(8)}${cells.map((cell) => cell.padStart(11)).join("")}`;
  const rows = [
    row(
      "",
      FIGURES.map((figure) => HEADINGS[figure]),
    ),
    row(
      "ms",
      FIGURES.map((figure) => String(now[figure])),
    ),
  ];
  if (before === undefined) return rows;
  return [
    ...rows,
    row(
      "before",
      FIGURES.map((figure) => String(before[figure])),
    ),
    row(
      "ratio",
      FIGURES.map((figure) => ratio(now[figure], before[figure])),
    ),
  ];
}

function ratio(now: number, before: number): string {
  return before === 0 ? "-" : `${(now / before).toFixed(2)} ×`;
}

function bars({ histogram }: BenchResult): readonly ShownText[] {
  const most = Math.max(...histogram.map(({ count }) => count), 1);
  return histogram.map(({ to, count }) => {
    const bar = "█".repeat(Math.ceil((count / most) * BAR_COLUMNS));
    return shown`${`< ${to} ms`.padStart(12)} ${String(count).padStart(9)} ${new ShownText(bar)}`;
  });
}
