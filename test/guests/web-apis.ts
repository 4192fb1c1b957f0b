/** QuickJS guests that have the host of their web APIs work for them: each call ends in time, and takes bounded memory. */
import { afterAll, expect, test } from "vitest";
import { Child } from "./report/child.ts";
import { addRow, IS_LONG, SEED } from "./report/rows.ts";
import { WEB_API_CASES } from "./web-apis/cases.ts";
import { MAX_LATE_MS, MAX_TAKEN_MIB, MEMORY_BYTES, type WebApiReport } from "./web-apis/web-api-case.ts";

/** A case that fails may have met a busy machine, so it runs again. */
const ATTEMPTS = 3;

/** In the sample, every so many-th guest runs. */
const STEP = 4;

const program = new URL("web-apis/program.ts", import.meta.url);
const reports: WebApiReport[] = [];
let child = new Child(program, 30_000);

afterAll(() => {
  child.kill();
  const size = `${reports.length} guests, limit ${MEMORY_BYTES / 2 ** 20} MiB`;
  const late = Math.max(...reports.map(({ lateMs }) => lateMs));
  const taken = Math.max(...reports.map(({ takenMiB }) => takenMiB));
  addRow({
    check: "web APIs: deadline",
    size,
    result: `${late.toFixed(0)} ms late`,
    bound: `${MAX_LATE_MS} ms`,
  });
  addRow({
    check: "web APIs: memory",
    size,
    result: `+${taken.toFixed(0)} MiB`,
    bound: `${MAX_TAKEN_MIB} MiB`,
  });
});

function isBounded({ lateMs, takenMiB }: WebApiReport): boolean {
  return lateMs <= MAX_LATE_MS && takenMiB <= MAX_TAKEN_MIB;
}

const cases = WEB_API_CASES.filter((_, index) => IS_LONG || index % STEP === SEED % STEP);

test.each(cases)("a guest with $name ends in time", { timeout: 100_000 }, async ({ name }) => {
  let report: WebApiReport | undefined;
  for (let attempt = 0; attempt < ATTEMPTS && (report === undefined || !isBounded(report)); attempt++) {
    child = new Child(program, 30_000);
    report = await child.ask<WebApiReport>(name);
    if (report !== undefined) expect(await child.end()).toBe(0);
  }
  if (report !== undefined) reports.push(report);
  expect(report).toMatchObject({ code: "timeout", mayStillRun: false, echoes: true });
  expect(report?.lateMs).toBeLessThanOrEqual(MAX_LATE_MS);
  expect(report?.takenMiB).toBeLessThanOrEqual(MAX_TAKEN_MIB);
});
