/**
 * `npm run test:conformance`: runs the scenarios of the conformance suite of MCP that each revision requires, frozen at its
 * release, against a server with the fixtures that they ask for, and prints a table. A scenario fails if a check of it fails,
 * warns or is skipped, or if none passes. Scenarios that are expected to fail are in
 * `test/mcp/conformance/expected-failures.yaml`; those that pass all the same fail, too. With the names of scenarios, only
 * those run.
 */
import { readFile } from "node:fs/promises";
import { parse } from "yaml";
import { startFixtureServer } from "../test/mcp/conformance/fixture-server.ts";
import {
  REVISIONS,
  requiredScenarios,
  runServerScenario,
  type ScenarioResult,
} from "../test/mcp/conformance/run-scenarios.ts";

interface ExpectedFailure {
  readonly revision: string;
  readonly side: string;
  readonly scenario: string;
  readonly reason: string;
}

const FILE = new URL("../test/mcp/conformance/expected-failures.yaml", import.meta.url);
const { failures } = parse(await readFile(FILE, "utf8")) as { failures: ExpectedFailure[] };
const chosen = process.argv.slice(2);

let wrong = 0;
const rows: string[] = [];
for (const revision of REVISIONS) {
  const required = await requiredScenarios(revision, "server");
  if (required.length === 0) throw new Error(`the suite requires no scenario for ${revision}`);
  // One server for each revision: scenarios leave sessions and calls behind.
  await using server = await startFixtureServer();
  const results: ScenarioResult[] = [];
  for (const name of required) {
    if (chosen.length > 0 && !chosen.includes(name)) continue;
    results.push(await runServerScenario(server.url, revision, name));
  }
  for (const result of results) report(revision, "server", result);
  const passed = results.filter(({ missed }) => missed.length === 0).length;
  const checks = results.reduce((sum, result) => sum + result.passed, 0);
  rows.push(`| ${revision} | server | ${passed} of ${results.length} | ${checks} |`);
}

console.log(
  `\n| revision | side | scenarios passed | checks passed |\n|---|---|--:|--:|\n${rows.join("\n")}`,
);
console.log(wrong === 0 ? "\nas expected" : `\n${wrong} not as expected`);
process.exit(wrong === 0 ? 0 : 1);

function report(revision: string, side: string, { name, missed }: ScenarioResult): void {
  const expected = failures.find(
    (failure) => failure.revision === revision && failure.side === side && failure.scenario === name,
  );
  if (missed.length === 0 && expected === undefined) return;
  const isExpected = missed.length > 0 && expected !== undefined;
  if (!isExpected) wrong++;
  const what =
    missed.length === 0 ? "passes, although it is expected to fail" : missed.join("; ").slice(0, 500);
  console.log(`${revision} ${side} ${name}: ${isExpected ? `expected (${expected.reason}): ` : ""}${what}`);
}
