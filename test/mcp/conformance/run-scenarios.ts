import { execFile } from "node:child_process";
import { glob, mkdtemp, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { parse } from "yaml";

/** The revisions of MCP whose frozen requirements are run. */
export const REVISIONS = ["2025-11-25", "2026-07-28"] as const;
export type Revision = (typeof REVISIONS)[number];

/** The result of one scenario. */
export interface ScenarioResult {
  readonly name: string;
  /** Checks that passed, beside those that only say that the peer answered. */
  readonly passed: number;
  /** Checks that failed, were skipped or warned, with what they say. */
  readonly missed: readonly string[];
}

/** The package does not export its command, so that only its manifest says where it is. */
const PACKAGE = dirname(
  createRequire(import.meta.url).resolve("@modelcontextprotocol/conformance/package.json"),
);
const COMMAND = join(PACKAGE, "dist", "index.js");
/** A scenario of the suite takes 30 seconds at most. */
const TIMEOUT_MS = 60_000;

/** The scenarios that a revision requires, as they were frozen at its release. */
export async function requiredScenarios(
  revision: Revision,
  side: "server" | "client",
): Promise<readonly string[]> {
  const text = await readFile(join(PACKAGE, "requirements", `${revision}.yaml`), "utf8");
  return (parse(text) as Record<string, string[]>)[side] ?? [];
}

/** Runs a scenario against a server. A scenario without a check that passed has not been run. */
export async function runServerScenario(
  url: string,
  revision: Revision,
  name: string,
): Promise<ScenarioResult> {
  const args = ["server", "--url", url, "--scenario", name, "--spec-version", revision, "--verbose"];
  const run = promisify(execFile);
  const options = { timeout: TIMEOUT_MS, maxBuffer: 64 * 1_024 * 1_024 };
  // A failed scenario is an exit code; what it prints tells more.
  const { stdout } = await run(process.execPath, [COMMAND, ...args], options).catch(
    (error: { stdout?: string }) => ({ stdout: error.stdout ?? "" }),
  );
  return countChecks(name, stdout);
}

/** All scenarios together take far less. */
const SUITE_TIMEOUT_MS = 600_000;

/**
 * Runs all scenarios that a revision requires against a server, one after another, in one process: most of what a process
 * for each would do is load the suite. Results of scenarios that the suite runs but does not require are left out.
 */
export async function runServerScenarios(
  url: string,
  revision: Revision,
): Promise<readonly ScenarioResult[]> {
  const required = await requiredScenarios(revision, "server");
  const checks = await withResults(
    ["server", "--url", url, "--requirements", revision],
    { timeout: SUITE_TIMEOUT_MS },
    async (results) => {
      const found = new Map<string, readonly Check[]>();
      for await (const file of glob("*/checks.json", { cwd: results })) {
        // The folder of a scenario has its name and the time.
        const name = /^server-(.+)-\d{4}-\d\d-\d\dT[^/]*$/.exec(dirname(file))?.[1];
        if (name !== undefined) found.set(name, JSON.parse(await readFile(join(results, file), "utf8")));
      }
      return found;
    },
  );
  return required.map((name) => count(name, checks.get(name) ?? []));
}

/** The client, which imports tools and calls them. */
const CLIENT = fileURLToPath(new URL("client.ts", import.meta.url));

/**
 * Runs a scenario of clients. Several can run at once: each has a server of its own.
 *
 * @param command What runs the client. The suite adds the address of its server.
 */
export async function runClientScenario(
  revision: Revision,
  name: string,
  command = `${process.execPath} ${CLIENT}`,
): Promise<ScenarioResult> {
  const args = ["client", "--command", command, "--scenario", name, "--spec-version", revision];
  // The suite and the client are the same for each scenario: compiled once, they start faster.
  const cache = process.env["NODE_COMPILE_CACHE"] ?? join(tmpdir(), "sandgate-conformance-cache");
  const env = { ...process.env, NODE_COMPILE_CACHE: cache };
  return withResults(args, { timeout: TIMEOUT_MS, env }, async (results) => {
    for await (const file of glob("**/checks.json", { cwd: results })) {
      return count(name, JSON.parse(await readFile(join(results, file), "utf8")));
    }
    return count(name, []);
  });
}

/** Runs the suite, which writes its results to a folder, and reads them. */
async function withResults<T>(
  args: readonly string[],
  options: { readonly timeout: number; readonly env?: NodeJS.ProcessEnv },
  read: (results: string) => Promise<T>,
): Promise<T> {
  const results = await mkdtemp(join(tmpdir(), "sandgate-conformance-"));
  try {
    // A failed scenario is an exit code; the files with the checks tell more.
    await promisify(execFile)(process.execPath, [COMMAND, ...args, "-o", results], {
      maxBuffer: 64 * 1_024 * 1_024,
      ...options,
    }).catch(() => {});
    return await read(results);
  } finally {
    await rm(results, { recursive: true, force: true });
  }
}

interface Check {
  readonly id: string;
  readonly status: string;
  readonly errorMessage?: string;
}

/** Counts the checks in what the suite printed. */
export function countChecks(name: string, printed: string): ScenarioResult {
  return count(name, readChecks(printed));
}

function count(name: string, checks: readonly Check[]): ScenarioResult {
  const passed = checks.filter(({ id, status }) => status === "SUCCESS" && id !== ANSWERS).length;
  const missed = checks
    .filter(({ status }) => status !== "SUCCESS" && status !== "INFO")
    .map(({ id, status, errorMessage = "" }) => `${id}: ${status} ${errorMessage}`);
  if (passed === 0) missed.push("no check passed");
  return { name, passed, missed };
}

/** Says only that the server answered in the form of its revision. */
const ANSWERS = "wire-schema-valid";

function readChecks(printed: string): readonly Check[] {
  const start = printed.indexOf("[\n");
  const end = printed.lastIndexOf("]");
  if (start < 0 || end < start) return [];
  try {
    return JSON.parse(printed.slice(start, end + 1)) as readonly Check[];
  } catch {
    return [];
  }
}
