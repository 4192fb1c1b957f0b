import { describe, expect, test } from "vitest";
import { warmUp } from "../../bench/harness/warm-up.ts";

const LONG = 60_000;

/** Returns how many rounds the warm-up takes for a case with these times per round. The last time repeats. */
async function roundsOf(times: readonly number[], mostMs = LONG): Promise<number> {
  let rounds = 0;
  const round = async (): Promise<{ p50: number }> => ({ p50: times[rounds++] ?? (times.at(-1) as number) });
  await warmUp({ round }, mostMs);
  return rounds;
}

describe("a case's warm-up", () => {
  test("the warm-up ends after five rounds without improvement", async () => {
    expect(await roundsOf([10])).toBe(1 + 5);
    expect(await roundsOf([10, 12, 9.9, 10, 9.6, 30])).toBe(1 + 5);
  });

  test("the warm-up continues while the case becomes faster, even after a plateau", async () => {
    expect(await roundsOf([230, 149, 92, 85, 78, 77])).toBe(5 + 5);
    expect(await roundsOf([5, 5, 5, 5, 5, 2])).toBe(6 + 5);
  });

  test("the warm-up ends when its time is up, but after at least one round", async () => {
    expect(await roundsOf([100, 10, 1], 0)).toBe(1);
  });
});
