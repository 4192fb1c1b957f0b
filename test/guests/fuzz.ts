/** Random components with every instruction that is supported: each of their calls ends in time. */
import { afterAll, expect, test } from "vitest";
import type { FuzzReport } from "./fuzz/report.ts";
import { attempted, MAX_LATE_MS } from "./report/attempts.ts";
import { Child } from "./report/child.ts";
import { addRow, IS_LONG, SEED } from "./report/rows.ts";

const MODULES = IS_LONG ? 20_000 : 200;

/** After so many, another process runs the rest: it keeps some memory for each. */
const MODULES_OF_PROCESS = 500;

const child = new Child(new URL("fuzz/program.ts", import.meta.url), 20_000);
afterAll(async () => expect(await child.end()).toBe(0), 15_000);

test(`${MODULES} random components end in time`, { timeout: MODULES * 3_000 }, async () => {
  const first = SEED * 1_000_000;
  console.log(`the seeds of the random components: ${first} to ${first + MODULES - 1}`);
  const ends: Record<string, number> = {};
  let latest = 0;
  for (let seed = first; seed < first + MODULES; seed++) {
    if (seed > first && seed % MODULES_OF_PROCESS === 0) expect(await child.end()).toBe(0);
    const report = await attempted(
      () => child.ask<FuzzReport>(seed),
      ({ mayStillRun }) => !mayStillRun,
    );
    expect(report, `seed ${seed}`).toMatchObject({ mayStillRun: false, status: expect.any(String) });
    expect(report?.lateMs, `seed ${seed}`).toBeLessThanOrEqual(report?.maxLateMs ?? 0);
    latest = Math.max(latest, report?.lateMs ?? 0);
    const end = report?.status ?? "";
    ends[end] = (ends[end] ?? 0) + 1;
  }
  console.log(ends);
  // Otherwise they would not test anything.
  expect(ends["timeout"]).toBeGreaterThan(MODULES / 5);
  addRow({
    check: "fuzz: random instructions",
    size: `${MODULES} components, ${ends["timeout"]} of which do not end by themselves`,
    result: `${latest.toFixed(0)} ms late`,
    bound: `${MAX_LATE_MS} ms`,
  });
});
