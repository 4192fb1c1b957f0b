import { describe, expect, test } from "vitest";
import type { Case } from "../../bench/harness/case.ts";
import { figuresOf } from "../../bench/harness/figures.ts";
import type { Round } from "../../bench/harness/time-round.ts";

const subject = (name: string, parts: Partial<Case> = {}): Case => ({
  name,
  open: () => ({ run: () => 0, check: () => {} }),
  ...parts,
});
const rounds = (...times: readonly number[]): Round[] =>
  times.map((p50) => ({ p50, p99: p50, distribution: [], batch: 1, bytes: 0, observed: {} }));

describe("the figures of a question", () => {
  test("each round is divided by the floor of the same round, so that the machine's speed does not matter", () => {
    const [, ours] = figuresOf([
      { subject: subject("floor"), rounds: rounds(1, 10, 100) },
      { subject: subject("ours"), rounds: rounds(2, 20, 200) },
    ]);
    expect(ours).toMatchObject({ ratio: 2, spread: { least: 2, most: 2 }, beyondFloor: 10, p50: 20 });
  });

  test("figures are per call, however many calls a run makes", () => {
    const [floor, ours] = figuresOf([
      { subject: subject("floor", { calls: 4 }), rounds: rounds(40) },
      { subject: subject("ours", { calls: 8 }), rounds: rounds(160) },
    ]);
    expect(floor).toMatchObject({ p50: 10, callsPerSecond: 100_000 });
    expect(ours).toMatchObject({ p50: 20, ratio: 2 });
  });

  test("a case is divided by the floor that it names, and omitted if that floor is missing", () => {
    const figures = figuresOf([
      { subject: subject("first"), rounds: rounds(1) },
      { subject: subject("second", { floor: "second" }), rounds: rounds(10) },
      { subject: subject("ours", { floor: "second" }), rounds: rounds(30) },
      { subject: subject("orphan", { floor: "gone" }), rounds: rounds(30) },
    ]);
    expect(figures.map(({ name, ratio }) => [name, ratio])).toEqual([
      ["first", 1],
      ["second", 1],
      ["ours", 3],
    ]);
  });
});
