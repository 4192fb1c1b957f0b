import { ConfigError, type ConfigProblem } from "../../../config/problem.ts";
import type { ImportedServerOptions } from "../../../mcp/import/server-options.ts";
import { joinShown } from "../../../rendering/shown.ts";
import { ShownText } from "../../../rendering/shown-text.ts";
import { type MachineReport, reportMachine } from "../../../sandboxes/machine-report.ts";
import { openSandboxes } from "../../../sandboxes/open-sandboxes.ts";
import { sandboxesOf } from "../../../tool/implementations/implementations.ts";
import { type Config, loadConfig } from "../../config/load-config.ts";
import { loadServer } from "../../config/server/load-server.ts";
import { type Answering, describeAnswering, whoAnswers } from "../../config/server/who-answers.ts";
import { showProblems } from "../../terminal/problems.ts";
import { EXIT_OK, EXIT_TOOL_FAILED, type ExitCode, print, type Terminal } from "../../terminal/terminal.ts";
import { checkGrants } from "../check/check-grants.ts";
import { describeMachine, describePlaces, heading } from "./describe.ts";
import { reasonOf } from "./holding.ts";
import { reportPlaces } from "./places.ts";

/** Options of `sandgate doctor`. */
interface DoctorOptions {
  /** Default: none; the machine alone is reported. */
  readonly config: string | undefined;
  readonly json: boolean;
}

/**
 * Prints what holds on this machine: sandboxes, limits of programs, and features of Node.js. With a config, also prints
 * whether its stores and peers can be used, and what else the config uses that does not hold.
 *
 * @throws {ConfigError} if the config is invalid.
 */
export async function doctor(
  { config, json }: DoctorOptions,
  { stdout, stderr }: Terminal,
): Promise<ExitCode> {
  const checked = config === undefined ? undefined : await loadChecked(config);
  const report = await reportMachine(checked?.loaded.sandboxOptions);
  const problems = checked === undefined ? [] : await findMissing(checked.loaded, report);
  const places = checked === undefined ? undefined : await reportPlaces(checked.loaded, checked.servers);
  const answering = checked === undefined ? [] : await findAnswering(checked.loaded);
  const missing = problems.filter(({ severity }) => severity === "error");
  const clock = new Date().toISOString();
  if (json) {
    const found = { ...report, clock, ...(places && { missing, answering, ...places }) };
    await print(stdout, new ShownText(JSON.stringify(found, null, 2), { isData: true }));
  } else {
    const lines = [
      ...describeMachine(report, clock),
      ...(places ? describePlaces(places) : []),
      ...(answering.length > 0 ? [heading("who answers for whom"), ...describeAnswering(answering)] : []),
    ];
    await print(stdout, joinShown(lines, "\n"));
    await print(stderr, showProblems(problems));
  }
  const all = [...(places?.stores ?? []), ...(places?.peers ?? [])];
  return missing.length === 0 && all.every(({ state }) => state.holds) ? EXIT_OK : EXIT_TOOL_FAILED;
}

interface Checked {
  readonly loaded: Config;
  readonly servers: Readonly<Record<string, ImportedServerOptions>>;
}

/** @throws {ConfigError} if the config is invalid. */
async function loadChecked(file: string): Promise<Checked> {
  let servers: Checked["servers"] = {};
  const loaded = await loadConfig(file, {
    // Their programs are not started, and their tools not imported.
    importTools: async ({ mcp }) => {
      servers = mcp.servers;
      return [];
    },
  });
  if (loaded.problems.some(({ severity }) => severity === "error")) throw new ConfigError(loaded.problems);
  return { loaded, servers };
}

/** Finds who can answer whom, also where the tokens are not at hand: `check` says what is wrong with the server. */
async function findAnswering({ source }: Config): Promise<readonly Answering[]> {
  return whoAnswers(await loadServer(source, []));
}

/** Finds the tools whose sandboxes do not hold, and the grants that theirs cannot enforce. */
async function findMissing(
  { source, tools, registry, sandboxOptions, locatedPolicies }: Config,
  { sandboxes: holding }: MachineReport,
): Promise<readonly ConfigProblem[]> {
  await using sandboxes = await openSandboxes(sandboxOptions);
  const grants = await checkGrants(locatedPolicies, registry.tools, sandboxes);
  const unheld = tools.flatMap(({ tool, path }) =>
    sandboxesOf(tool).flatMap((mode) => {
      const found = holding[mode];
      return found.holds ? [] : [source.problem([...path, mode], reasonOf(found), "error", "key")];
    }),
  );
  return [...unheld, ...grants];
}
