import type { Figure } from "../harness/figures.ts";
import type { QuestionResult } from "../harness/measure.ts";

/** A Vega-Lite specification. */
export type Specification = Readonly<Record<string, unknown>>;

const SIZE = { width: 560, height: 300, background: "white" };
const LEGEND = { orient: "bottom", columns: 1, labelLimit: 560, title: null };

/** Returns the chart of a question: cost by scale if its cases have one, otherwise the distribution of times. */
export function chartOf(result: QuestionResult): Specification {
  return result.scale === undefined ? distributionChart(result) : scalingChart(result, result.scale);
}

function distributionChart({ name, figures }: QuestionResult): Specification {
  const values = figures.flatMap((figure) =>
    Object.entries(figure.distribution)
      .map(([percentile, us]) => ({ case: figure.name, percentile: Number(percentile.slice(1)), us }))
      // The maximum depends on the machine rather than the case.
      .filter(({ percentile }) => percentile < 100),
  );
  return {
    ...SIZE,
    title: `${name}: how long a call takes`,
    data: { values },
    mark: { type: "line", interpolate: "step-after" },
    encoding: {
      x: { field: "percentile", type: "quantitative", title: "percentile" },
      y: { field: "us", type: "quantitative", scale: { type: "log" }, title: "µs per call" },
      color: color(figures.map((figure) => figure.name)),
    },
  };
}

function scalingChart({ name, figures }: QuestionResult, scale: string): Specification {
  const placed = figures.filter(({ at }) => at !== undefined);
  const series = [...new Set(placed.map(seriesOf))];
  const values = placed.map((figure) => ({ case: seriesOf(figure), at: figure.at, us: figure.p50 }));
  return {
    ...SIZE,
    title: `${name}: what a call costs`,
    data: { values },
    mark: { type: "line", point: true },
    encoding: {
      x: { field: "at", type: "quantitative", scale: { type: "log" }, title: scale },
      y: { field: "us", type: "quantitative", scale: { type: "log" }, title: "µs per call, median" },
      color: color(series),
    },
  };
}

/** Returns a case's name without its position on the scale. */
function seriesOf({ name, floor }: Figure): string {
  return name === floor ? "floor" : "dispatch";
}

function color(domain: readonly string[]): object {
  return { field: "case", type: "nominal", scale: { domain, scheme: "tableau20" }, legend: LEGEND };
}
