import { describe, expect, test } from "vitest";
import { median, middleHalf, percentile } from "../../bench/harness/statistics.ts";

describe("statistics of a few rounds", () => {
  test("percentiles are interpolated if a share falls between two values", () => {
    expect(median([4, 1, 3, 2])).toBe(2.5);
    expect(middleHalf([7, 1, 2, 3, 4, 5, 6])).toEqual({ least: 2.5, most: 5.5 });
    expect(middleHalf([1, 2, 9])).toEqual({ least: 1.5, most: 5.5 });
  });

  test("percentiles are the values themselves if a share falls on one", () => {
    expect([0, 0.5, 1].map((share) => percentile([9, 2, 1], share))).toEqual([1, 2, 9]);
    expect(percentile([5], 0.99)).toBe(5);
  });

  test("percentiles of no values are NaN", () => {
    expect(median([])).toBeNaN();
  });
});
