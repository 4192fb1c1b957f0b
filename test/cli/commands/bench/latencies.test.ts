import fc from "fast-check";
import { expect, test } from "vitest";
// Inside: compares percentiles with sorted latencies of its own; `sandgate bench` measures others in each run.
import { Latencies } from "../../../../src/cli/commands/bench/result.ts";

test("percentiles are within a hundredth of those of the sorted latencies", () => {
  const latency = fc.double({ min: 0.001, max: 100_000, noNaN: true });
  fc.assert(
    fc.property(fc.array(latency, { minLength: 1, maxLength: 300 }), (values) => {
      const latencies = new Latencies();
      for (const value of values) latencies.record(value);
      const sorted = values.toSorted((one, other) => one - other);
      const { p50, p90, p99, p999, max } = latencies.summary();
      for (const [found, percentile] of [
        [p50, 50],
        [p90, 90],
        [p99, 99],
        [p999, 99.9],
        [max, 100],
      ] as const) {
        // The rank is rounded, as in the HdrHistogram that Node.js has.
        const rank = Math.max(1, Math.floor((percentile / 100) * sorted.length + 0.5));
        const exact = sorted[rank - 1] ?? 0;
        expect(Math.abs(found - exact)).toBeLessThanOrEqual(exact / 100 + 0.002);
      }
      const bands = latencies.bands();
      expect(bands.reduce((sum, { count }) => sum + count, 0)).toBe(values.length);
      for (const { from, to, count } of bands)
        expect(values.filter((value) => value >= from && value < to).length).toBe(count);
    }),
  );
});

test("there are no figures without latencies", () => {
  expect(new Latencies().summary()).toEqual({ p50: 0, p90: 0, p99: 0, p999: 0, max: 0, mean: 0 });
  expect(new Latencies().bands()).toEqual([]);
});
