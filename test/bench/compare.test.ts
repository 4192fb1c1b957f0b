import { describe, expect, test } from "vitest";
import { compareReports } from "../../bench/harness/compare.ts";
import { figure, report } from "./reports.ts";

const FLOOR = figure({ name: "floor", ratio: 1 });
const dispatch = (ratio: number, half = 0.05): ReturnType<typeof figure> =>
  figure({ name: "dispatch", ratio, spread: { least: ratio - half, most: ratio + half } });

const verdicts = (...given: Parameters<typeof compareReports>): string[] =>
  compareReports(...given).map(({ name, verdict }) => `${name}: ${verdict}`);

describe("two runs, compared", () => {
  test("comparing two runs reports cases that became slower or faster beyond the noise, without the floors", () => {
    const [before, after] = [report(FLOOR, dispatch(2)), report(FLOOR, dispatch(2.5))];
    expect(verdicts(before, after)).toEqual(["dispatch: slower"]);
    expect(verdicts(after, before)).toEqual(["dispatch: faster"]);
  });

  test("cases are the same if the rounds overlap or the medians are close", () => {
    expect(verdicts(report(FLOOR, dispatch(2, 0.5)), report(FLOOR, dispatch(2.5, 0.5)))).toEqual([
      "dispatch: same",
    ]);
    expect(verdicts(report(FLOOR, dispatch(2, 0.01)), report(FLOOR, dispatch(2.1, 0.01)))).toEqual([
      "dispatch: same",
    ]);
  });

  test("a change is unclear if the floor was too noisy in either run", () => {
    const noisy = figure({ name: "floor", ratio: 1, noise: 0.5 });
    expect(verdicts(report(noisy, dispatch(2)), report(FLOOR, dispatch(9)))).toEqual(["dispatch: unclear"]);
    expect(verdicts(report(FLOOR, dispatch(2)), report(noisy, dispatch(9)))).toEqual(["dispatch: unclear"]);
  });

  test("a case that only one of the runs has is not compared", () => {
    const other = figure({ name: "another", ratio: 3 });
    expect(verdicts(report(FLOOR, dispatch(2)), report(FLOOR, other))).toEqual([]);
  });
});
