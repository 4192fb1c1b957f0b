import { describe, expect, test } from "vitest";
import { median, middleHalf, percentile } from "../../bench/harness/statistics.ts";

describe("statistics of a few rounds", () => {
  test("are between two values where a share falls between them", () => {
    expect(median([4, 1, 3, 2])).toBe(2.5);
    expect(middleHalf([7, 1, 2, 3, 4, 5, 6])).toEqual({ least: 2.5, most: 5.5 });
    expect(middleHalf([1, 2, 9])).toEqual({ least: 1.5, most: 5.5 });
  });

  test("are the values themselves where it falls on one", () => {
    expect([0, 0.5, 1].map((share) => percentile([9, 2, 1], share))).toEqual([1, 2, 9]);
    expect(percentile([5], 0.99)).toBe(5);
  });

  test("of nothing are no number", () => {
    expect(median([])).toBeNaN();
  });
});
