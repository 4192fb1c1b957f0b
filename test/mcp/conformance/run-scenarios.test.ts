import { expect, test } from "vitest";
import { judge } from "./expectations.ts";
import {
  countChecks,
  REVISIONS,
  requiredScenarios,
  runClientScenario,
  runServerScenario,
  runServerScenarios,
} from "./run-scenarios.ts";

test("each revision requires as many scenarios of servers as MCP has frozen", async () => {
  expect(await requiredScenarios("2025-11-25", "server")).toHaveLength(30);
  expect(await requiredScenarios("2026-07-28", "server")).toHaveLength(37);
});

test.each(REVISIONS)("a dead address fails a scenario of %s", async (revision) => {
  const { passed, missed } = await runServerScenario("http://127.0.0.1:9/mcp", revision, "tools-list");
  expect([passed, missed.at(-1)]).toEqual([0, "no check passed"]);
});

test.each(REVISIONS)("a dead address fails all required scenarios of %s", async (revision) => {
  const results = await runServerScenarios("http://127.0.0.1:9/mcp", revision);
  expect(results.map(({ name }) => name)).toEqual(await requiredScenarios(revision, "server"));
  expect(results.filter(({ missed }) => missed.length === 0)).toEqual([]);
});

test("each revision requires as many scenarios of clients as MCP has frozen", async () => {
  expect(await requiredScenarios("2025-11-25", "client")).toHaveLength(18);
  expect(await requiredScenarios("2026-07-28", "client")).toHaveLength(32);
});

test("a client that does nothing fails a scenario", async () => {
  const { missed } = await runClientScenario("2026-07-28", "auth/metadata-default", "true");
  expect(missed.at(-1)).toBe("no check passed");
});

test("a client passes a scenario with OAuth and calls of tools", async () => {
  const { passed, missed } = await runClientScenario("2026-07-28", "auth/scope-step-up");
  expect([passed > 20, missed]).toEqual([true, []]);
}, 60_000);

test("a scenario that is expected to fail must fail, and one that skips must skip as many checks", () => {
  const entry = { revision: "2026-07-28", side: "client", scenario: "x", reason: "because" };
  const judged = (expected: "failures" | "skips", ...missed: string[]) => {
    const expectations = { failures: [], skips: [], [expected]: [{ ...entry, checks: 1 }] };
    const { passed, isExpected } = judge(expectations, "2026-07-28", "client", {
      name: "x",
      passed: 1,
      missed,
    });
    return [passed, isExpected];
  };
  expect(judged("failures", "a: FAILURE ")).toEqual([false, true]);
  expect(judged("failures")).toEqual([true, false]);
  expect(judged("skips", "a: SKIPPED ")).toEqual([true, true]);
  expect(judged("skips")).toEqual([false, false]);
  expect(judged("skips", "a: SKIPPED ", "b: SKIPPED ")).toEqual([false, false]);
  expect(judged("skips", "a: SKIPPED ", "b: FAILURE ")).toEqual([false, false]);
});

test("a scenario fails unless a check of it passes, and all others do", () => {
  const printed = (...checks: readonly object[]): string => `text\n${JSON.stringify(checks, null, 2)}\n`;
  const success = { id: "a", status: "SUCCESS" };
  expect(countChecks("x", "")).toMatchObject({ passed: 0, missed: ["no check passed"] });
  expect(countChecks("x", printed({ id: "wire-schema-valid", status: "SUCCESS" }))).toMatchObject({
    missed: ["no check passed"],
  });
  expect(countChecks("x", printed({ id: "a", status: "INFO" })).missed).toHaveLength(1);
  expect(countChecks("x", printed(success))).toMatchObject({ passed: 1, missed: [] });
  for (const status of ["FAILURE", "WARNING", "SKIPPED"]) {
    expect(countChecks("x", printed(success, { id: "b", status })).missed).toEqual([`b: ${status} `]);
  }
});
