/** `npm run bench`: see `USAGE` in command-line.ts. */
import { readFileSync } from "node:fs";
import { readCommandLine, USAGE, UsageError } from "./command-line.ts";
import { whyNotBuilt } from "./harness/built.ts";
import { changeTable, compareReports } from "./harness/compare.ts";
import type { Report } from "./harness/report.ts";
import { runSuites } from "./run-suites.ts";
import { runSoak } from "./soak/run-soak.ts";

try {
  process.exitCode = await run();
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  console.error(`${error.message}\n\n${USAGE}`);
  process.exitCode = 2;
}

async function run(): Promise<number> {
  const command = readCommandLine(process.argv.slice(2));
  if (command.kind === "compare") return compare(command.before, command.after);
  const unbuilt = whyNotBuilt();
  if (unbuilt !== undefined) throw new UsageError(unbuilt);
  return command.kind === "soak" ? runSoak(command) : runSuites(command.suites, command.options);
}

function compare(before: string, after: string): number {
  const changes = compareReports(readReport(before), readReport(after));
  console.log(changeTable(changes));
  return changes.some(({ verdict }) => verdict === "slower") ? 1 : 0;
}

function readReport(path: string): Report {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    throw new UsageError(`${path} is not a valid report: ${error instanceof Error ? error.message : error}`);
  }
}
