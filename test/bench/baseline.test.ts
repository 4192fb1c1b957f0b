import { describe, expect, test } from "vitest";
import { besideBaseline, isFarWorse } from "../../bench/harness/baseline.ts";
import { figure, report } from "./reports.ts";

const BASELINE = { host: { dispatch: 2, gone: 5 } };

describe("a run beside the baseline", () => {
  test("a run is compared to the baseline in the cases that both have", () => {
    const all = besideBaseline(
      report(figure({ name: "dispatch", ratio: 3 }), figure({ name: "new", ratio: 9 })),
      BASELINE,
    );
    expect(all).toEqual([{ question: "host", name: "dispatch", baseline: 2, ratio: 3 }]);
  });

  test.each([
    [1, false],
    [6, false],
    [6.1, true],
  ])("with a ratio of %s instead of 2 is far worse: %s", (ratio, isFar) => {
    const [only] = besideBaseline(report(figure({ name: "dispatch", ratio })), BASELINE);
    expect(only && isFarWorse(only)).toBe(isFar);
  });
});
