import { expect, test } from "vitest";
import { countChecks, requiredScenarios, runServerScenario } from "./run-scenarios.ts";

test("each revision requires as many scenarios of servers as MCP has frozen", async () => {
  expect(await requiredScenarios("2025-11-25", "server")).toHaveLength(30);
  expect(await requiredScenarios("2026-07-28", "server")).toHaveLength(37);
});

test.each([
  "2025-11-25",
  "2026-07-28",
] as const)("a dead address fails a scenario of %s", async (revision) => {
  const { passed, missed } = await runServerScenario("http://127.0.0.1:9/mcp", revision, "tools-list");
  expect([passed, missed.at(-1)]).toEqual([0, "no check passed"]);
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
