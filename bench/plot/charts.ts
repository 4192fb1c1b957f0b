import type { Figure } from "../harness/figures.ts";
import type { QuestionResult } from "../harness/measure.ts";

/** A Vega-Lite specification. */
export type Specification = Readonly<Record<string, unknown>>;

const SIZE = { width: 560, background: "white" };
const FLOOR = { mark: { type: "rule", strokeDash: [4, 3] }, encoding: { y: { datum: 1 } } };
/** The cases that a chart can show and still be read. */
const MAX_BARS = 12;

/** Returns the chart of a question: ratios along its scale, if the cases have one, and otherwise a bar for each case. */
export function chartOf(result: QuestionResult): Specification {
  return result.scale === undefined ? barChart(result) : scalingChart(result, result.scale);
}

function barChart({ name, figures }: QuestionResult): Specification {
  const others = figures.filter(({ name: own, floor }) => own !== floor);
  const values = others.slice(0, MAX_BARS).map(({ name: own, ratio, isPeer }) => ({
    case: own,
    ratio,
    of: isPeer ? "another library" : "Sandgate",
  }));
  return {
    ...SIZE,
    title: `${name}: ${finding(others)}`,
    data: { values },
    layer: [
      {
        mark: "bar",
        encoding: {
          y: { field: "case", type: "nominal", sort: null, title: null, axis: { labelLimit: 320 } },
          x: { field: "ratio", type: "quantitative", title: "times the floor (dashed), median" },
          color: { field: "of", type: "nominal", title: null, legend: { orient: "bottom" } },
        },
      },
      { mark: { type: "rule", strokeDash: [4, 3] }, encoding: { x: { datum: 1 } } },
    ],
  };
}

function scalingChart({ name, figures }: QuestionResult, scale: string): Specification {
  const placed = figures.filter(({ at, name: own, floor }) => at !== undefined && own !== floor);
  return {
    ...SIZE,
    height: 300,
    title: `${name}: ${scalingFinding(placed, scale)}`,
    data: { values: placed.map(({ at, ratio }) => ({ at, ratio })) },
    layer: [
      {
        mark: { type: "line", point: true },
        encoding: {
          x: { field: "at", type: "quantitative", scale: { type: "log" }, title: scale },
          y: { field: "ratio", type: "quantitative", title: "times the floor (dashed), median" },
        },
      },
      FLOOR,
    ],
  };
}

/** Returns what the bars say, for the title. */
function finding(figures: readonly Figure[]): string {
  const ratios = figures.filter(({ isPeer }) => !isPeer).map(({ ratio }) => ratio);
  if (ratios.length === 0) return "the floor alone";
  const [least, most] = [Math.min(...ratios), Math.max(...ratios)].map(times);
  return least === most ? `a call takes ${least} the floor` : `calls take ${least} to ${most} the floor`;
}

function scalingFinding(figures: readonly Figure[], scale: string): string {
  const [first, last] = [figures.at(0), figures.at(-1)];
  if (first === undefined || last === undefined) return "the floor alone";
  return `${times(first.ratio)} the floor at ${first.at}, ${times(last.ratio)} at ${last.at} ${scale}`;
}

function times(ratio: number): string {
  return `${ratio.toFixed(ratio < 10 ? 2 : 0)} ×`;
}
