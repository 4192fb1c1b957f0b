/**
 * `npm run test:conformance`: runs the scenarios of the conformance suite of MCP that each revision requires, frozen at its
 * release, and prints a table. Those of servers run against a server with the fixtures that they ask for, and through a proxy
 * before one, those of clients against `test/mcp/conformance/client.ts`; the three sides run at the same time. A scenario fails
 * if a check of it fails, warns or is skipped, or if none passes.
 * Scenarios that are expected to fail, and checks that cannot apply, are in `test/mcp/conformance/expected-failures.yaml`; a
 * scenario that passes although it is expected to fail is an error, too. With the names of scenarios, only those run.
 */
import { availableParallelism } from "node:os";
import { judge, readExpectations } from "../test/mcp/conformance/expectations.ts";
import { startProxy } from "../test/mcp/conformance/fixture-proxy.ts";
import { startFixtureServer } from "../test/mcp/conformance/fixture-server.ts";
import {
  REVISIONS,
  type Revision,
  requiredScenarios,
  runClientScenario,
  runServerScenario,
  runServerScenarios,
  type ScenarioResult,
} from "../test/mcp/conformance/run-scenarios.ts";

const expectations = await readExpectations();
const chosen = process.argv.slice(2);

let wrong = 0;
const rows: string[] = [];
for (const revision of REVISIONS) {
  // One server for each side: scenarios leave sessions and calls behind.
  await using server = await startFixtureServer();
  await using behind = await startFixtureServer();
  // Sandgate between the suite and a server of its own, to which it speaks the other revision.
  const [wire] = REVISIONS.filter((each) => each !== revision) as [Revision];
  await using proxy = await startProxy({ target: behind.url, wire });
  const spoken = proxy.imports.servers.get("fixtures")?.info?.protocolVersion;
  if (spoken !== wire) throw new Error(`the proxy speaks ${spoken} to its server, and not ${wire}`);
  const against = (url: string): Promise<readonly ScenarioResult[]> =>
    chosen.length === 0
      ? runServerScenarios(url, revision)
      : runAll(revision, "server", 1, (name) => runServerScenario(url, revision, name));
  const [direct, proxied, clients] = await Promise.all([
    against(server.url),
    against(proxy.url),
    runAll(revision, "client", availableParallelism(), (name) => runClientScenario(revision, name)),
  ]);
  report(revision, "server", direct);
  report(revision, "client", clients);
  report(revision, "proxy", proxied);
}

console.log(
  `\n| revision | side | scenarios passed | checks passed |\n|---|---|--:|--:|\n${rows.join("\n")}`,
);
console.log(wrong === 0 ? "\nas expected" : `\n${wrong} not as expected`);
process.exit(wrong === 0 ? 0 : 1);

/** Runs the required scenarios, some at once. */
async function runAll(
  revision: Revision,
  side: "server" | "client",
  atOnce: number,
  run: (name: string) => Promise<ScenarioResult>,
): Promise<readonly ScenarioResult[]> {
  const required = await requiredScenarios(revision, side);
  if (required.length === 0) throw new Error(`the suite requires no scenario of a ${side} for ${revision}`);
  const waiting = required.filter((name) => chosen.length === 0 || chosen.includes(name));
  const results: ScenarioResult[] = [];
  const work = async (): Promise<void> => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift())
      results.push(await run(name));
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return results;
}

function report(
  revision: Revision,
  side: "server" | "client" | "proxy",
  results: readonly ScenarioResult[],
): void {
  const verdicts = results.map((result) => judge(expectations, revision, side, result));
  for (const { isExpected, line } of verdicts) {
    if (!isExpected) wrong++;
    if (line !== undefined) console.log(line);
  }
  const passed = verdicts.filter((verdict) => verdict.passed).length;
  const checks = results.reduce((sum, result) => sum + result.passed, 0);
  rows.push(`| ${revision} | ${side} | ${passed} of ${results.length} | ${checks} |`);
}
