import { expect, test } from "vitest";
import { readCommandLine, UsageError } from "../../bench/command-line.ts";
import { busyShare, busyWarning } from "../../bench/harness/busy.ts";
import { questionTable } from "../../bench/harness/table.ts";
import { runSuites } from "../../bench/run-suites.ts";
import { figure, report } from "./reports.ts";

test("a text that is in no question's name is refused with the names, and nothing is measured", async () => {
  const command = readCommandLine(["telemetry", "--only", "attic"]);
  if (command.kind !== "measure") throw new Error("not a measurement");
  const run = runSuites(command.suites, command.options);
  await expect(run).rejects.toThrow(UsageError);
  await expect(run).rejects.toThrow("no question has 'attic' in its name: there are telemetry");
});

test("the share of busy processors is between none and all of them", async () => {
  const share = await busyShare();
  expect(share).toBeGreaterThanOrEqual(0);
  expect(share).toBeLessThanOrEqual(1);
});

test("rows that were measured on a loaded machine are marked, and the table says why", () => {
  const [question] = report(figure({ name: "a call", ratio: 2 })).questions;
  if (question === undefined) throw new Error("no question");
  expect(questionTable({ ...question, busy: 0.05 })).not.toContain("⚠");
  const loaded = questionTable({ ...question, busy: 0.4 });
  expect(loaded).toContain("| a call ⚠ |");
  expect(loaded).toContain("**Loaded machine**: other processes use 40 % of the processors.");
  expect(busyWarning(0.1)).toBeUndefined();
});
