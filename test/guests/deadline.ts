/** The components of `deadline/` are called with a deadline: all calls end in time, whatever the components do. */
import { afterAll, expect, test } from "vitest";
import { ALL_CASES, sampleOf } from "./deadline/all-cases.ts";
import type { DeadlineCase } from "./deadline/deadline-case.ts";
import { type CaseReport, MAX_SETTLED_LATE_MS } from "./deadline/report.ts";
import { attempted, MAX_LATE_MS } from "./report/attempts.ts";
import { Child } from "./report/child.ts";
import { addRow, IS_LONG, SEED } from "./report/rows.ts";

/** In the sample, every so many-th component of a group runs. */
const STEP = 6;

const cases = IS_LONG ? ALL_CASES : sampleOf(STEP, SEED);
const child = new Child(new URL("deadline/program.ts", import.meta.url), 60_000);
const reports = new Map<DeadlineCase, CaseReport>();

afterAll(async () => {
  expect(await child.end()).toBe(0);
  for (const [group, each] of Map.groupBy(reports, ([{ group }]) => group)) {
    const late = Math.max(...each.map(([, { lateMs }]) => lateMs));
    addRow({
      check: `deadline: ${group}`,
      size: `${each.length} components, 3 calls each`,
      result: `${late.toFixed(0)} ms late`,
      bound: `${MAX_LATE_MS} ms`,
    });
  }
}, 30_000);

test.each(cases)("$name ends in time", { timeout: 240_000 }, async (each) => {
  const report = await attempted(
    (attempt) => {
      // It runs alone again.
      if (attempt > 0) child.kill();
      return child.ask<CaseReport>(each.name);
    },
    ({ settledLateMs, mayStillRun, abandoned }) =>
      settledLateMs <= MAX_SETTLED_LATE_MS && !mayStillRun && abandoned === 0,
  );
  if (report !== undefined) reports.set(each, report);
  expect(report).toMatchObject({ mayStillRun: false, abandoned: 0, echoes: true });
  expect(report?.codes).not.toContain("sandbox_unavailable");
  expect(report?.lateMs).toBeLessThanOrEqual(report?.maxLateMs ?? 0);
  expect(report?.settledLateMs).toBeLessThanOrEqual(MAX_SETTLED_LATE_MS);
});
