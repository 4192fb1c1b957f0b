/**
 * QuickJS guests that have Node.js work on hostile values, for each operation that the host has for guests: each call
 * ends in time, and its thread lives.
 */
import { afterAll, expect, test } from "vitest";
import { HOST_WORK, KNOWN_WORK } from "./host-work/cases.ts";
import type { HostWorkReport, HostWorkRequest } from "./host-work/report.ts";
import { attempted, MAX_LATE_MS } from "./report/attempts.ts";
import { Child } from "./report/child.ts";
import { addRow, IS_LONG, SEED } from "./report/rows.ts";

/** How many random guests each operation has. */
const GUESTS = IS_LONG ? 60 : 2;

const child = new Child(new URL("host-work/program.ts", import.meta.url), 90_000);
let count = 0;
let late = Number.NEGATIVE_INFINITY;

afterAll(async () => {
  await child.end();
  addRow({
    check: "work of the host: deadline",
    size: `${count} guests of ${Object.keys(HOST_WORK).length} operations`,
    result: `${late.toFixed(0)} ms late`,
    bound: `${MAX_LATE_MS} ms`,
  });
}, 30_000);

const requests = Object.keys(HOST_WORK).flatMap((operation): readonly HostWorkRequest[] => [
  ...(KNOWN_WORK[operation] ?? []).map((_, index) => ({ operation, guest: `known ${index}` as const })),
  ...Array.from({ length: GUESTS }, (_, index) => ({
    operation,
    guest: `seed ${SEED * 1_000 + index}` as const,
  })),
]);

test.each(requests)("a guest ends in time: $operation, $guest", { timeout: 300_000 }, async (request) => {
  const report = await attempted(
    (attempt) => {
      if (attempt > 0) child.kill();
      return child.ask<HostWorkReport>(request);
    },
    ({ mayStillRun, abandoned }) => !mayStillRun && abandoned === 0,
  );
  expect(report).toMatchObject({ hasWorked: true, mayStillRun: false, abandoned: 0, echoes: true });
  expect(report?.code, report?.source).toBe("timeout");
  expect(report?.lateMs, report?.source).toBeLessThanOrEqual(report?.maxLateMs ?? 0);
  count++;
  late = Math.max(late, report?.lateMs ?? 0);
});
