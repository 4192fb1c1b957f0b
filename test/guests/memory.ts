/** Guests that try to take more memory than they may, each in a process of its own. */
import { afterAll, expect, test } from "vitest";
import { MEMORY_CASES } from "./memory/cases.ts";
import type { MemoryReport } from "./memory/memory-case.ts";
import { Child } from "./report/child.ts";
import { addRow, IS_LONG, SEED } from "./report/rows.ts";

/** In the sample, every so many-th guest runs, and always the last one. */
const STEP = 3;

const cases = MEMORY_CASES.filter(
  (_, index) => IS_LONG || index % STEP === SEED % STEP || index === MEMORY_CASES.length - 1,
);

const program = new URL("memory/program.ts", import.meta.url);
let child = new Child(program, 60_000);
afterAll(() => child.kill());

test.each(cases)("$name", { timeout: 70_000 }, async ({ name, limits, bound }) => {
  child = new Child(program, 60_000);
  const report = await child.ask<MemoryReport>(name);
  expect(await child.end()).toBe(0);
  expect(report).toBeDefined();
  const { baselineMiB = 0, highestMiB = Number.POSITIVE_INFINITY } = report ?? {};
  const isInAll = "inAllMiB" in bound;
  const taken = isInAll ? highestMiB : highestMiB - baselineMiB;
  const most = isInAll ? bound.inAllMiB : bound.aboveBaselineMiB;
  addRow({
    check: `memory: ${name}`,
    size: isInAll ? "the whole process" : `limit ${limits.memoryBytes / 2 ** 20} MiB`,
    result: `${isInAll ? "" : "+"}${taken.toFixed(0)} MiB`,
    bound: `${most} MiB`,
  });
  expect(report?.codes).not.toContain("sandbox_unavailable");
  expect(taken).toBeLessThanOrEqual(most);
});
