/** QuickJS guests that have the host of their web APIs work for them: each call ends in time, and takes bounded memory. */
import { afterAll, expect, test } from "vitest";
import { attempted, MAX_LATE_MS } from "./report/attempts.ts";
import { Child } from "./report/child.ts";
import { addRow, IS_LONG, SEED } from "./report/rows.ts";
import { WEB_API_CASES } from "./web-apis/cases.ts";
import { MAX_TAKEN_MIB, MEMORY_BYTES, type WebApiReport } from "./web-apis/web-api-case.ts";

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

const cases = WEB_API_CASES.filter((_, index) => IS_LONG || index % STEP === SEED % STEP);

test.each(cases)("a guest with $name ends in time", { timeout: 100_000 }, async ({ name }) => {
  const report = await attempted(
    async () => {
      child = new Child(program, 30_000);
      const answer = await child.ask<WebApiReport>(name);
      if (answer !== undefined) expect(await child.end()).toBe(0);
      return answer;
    },
    ({ takenMiB }) => takenMiB <= MAX_TAKEN_MIB,
  );
  if (report !== undefined) reports.push(report);
  expect(report).toMatchObject({ code: "timeout", mayStillRun: false, echoes: true });
  expect(report?.lateMs).toBeLessThanOrEqual(report?.maxLateMs ?? 0);
  expect(report?.takenMiB).toBeLessThanOrEqual(MAX_TAKEN_MIB);
});
