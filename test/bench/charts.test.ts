import { expect, test } from "vitest";
import { chartOf } from "../../bench/plot/charts.ts";
import { figure, report } from "./reports.ts";

const FLOOR = figure({ name: "floor", ratio: 1 });

test("a chart has the finding in its title, and a line where the floor is", () => {
  const figures = [FLOOR, figure({ name: "a", ratio: 2.5 }), figure({ name: "b", ratio: 12 })];
  const [question] = report(...figures).questions;
  const chart = chartOf(question as NonNullable<typeof question>);
  expect(chart["title"]).toBe("host: calls take 2.50 × to 12 × the floor");
  expect(JSON.stringify(chart["layer"])).toContain('"encoding":{"x":{"datum":1}}');
  expect(chart["data"]).toEqual({
    values: [
      { case: "a", ratio: 2.5, of: "Sandgate" },
      { case: "b", ratio: 12, of: "Sandgate" },
    ],
  });
});

test("a chart of a scale says what the first and the last place cost", () => {
  const figures = [1, 64].map((at) => figure({ name: `${at}`, ratio: 1 + at / 64, at }));
  const [question] = report(...figures).questions;
  const chart = chartOf({ ...(question as NonNullable<typeof question>), scale: "calls in flight" });
  expect(chart["title"]).toBe("host: 1.02 × the floor at 1, 2.00 × at 64 calls in flight");
});
