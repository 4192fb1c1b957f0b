import { constants } from "node:fs";
import { access, stat, statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { formatBytes } from "../../base/units.ts";
import { ConfigError, type ConfigProblem } from "../../config/problem.ts";
import type { ImportedServerOptions } from "../../mcp/import/server-options.ts";
import { checkSqliteFile } from "../../record/sqlite-file.ts";
import { joinShown, ShownText, shown } from "../../rendering/shown.ts";
import type { Holding } from "../../sandboxes/contract/holding.ts";
import { type MachineReport, reportMachine } from "../../sandboxes/machine-report.ts";
import { openSandboxes, type SandboxesOptions } from "../../sandboxes/open-sandboxes.ts";
import { type PeerReport, reportExecutor, reportServer } from "../../sandboxes/remote/peer-report.ts";
import { SESSIONS_FILE } from "../../sessions/store/sqlite-store.ts";
import { sandboxesOf } from "../../tool/implementations/implementations.ts";
import {
  type ExecutorAddress,
  isExecutorImplementation,
  parseExecutors,
} from "../../tool/implementations/remote-implementation.ts";
import { type Config, loadConfig } from "../config/load-config.ts";
import { loadServer } from "../config/server/load-server.ts";
import { type Answering, describeAnswering, whoAnswers } from "../config/server/who-answers.ts";
import type { ConfiguredTool } from "../config/tools/load-tools.ts";
import {
  EXIT_OK,
  EXIT_TOOL_FAILED,
  type ExitCode,
  print,
  showProblems,
  styled,
  type Terminal,
} from "../terminal.ts";
import { checkGrants } from "./check/check-grants.ts";

/** Below this, a store is likely to fill its disk soon. */
const MIN_FREE_BYTES = 64 * 2 ** 20;

/** A file or directory in which a config stores something. */
interface StoreReport {
  readonly name: "sessions" | "journal";
  readonly path: string;
  readonly state: Holding;
}

/** What a config uses outside this process. */
interface Places {
  readonly stores: readonly StoreReport[];
  readonly peers: readonly PeerReport[];
}

/** Options of `sandgate doctor`. */
interface DoctorOptions {
  /** Default: none; the machine alone is reported. */
  readonly config: string | undefined;
  readonly json: boolean;
}

/**
 * Prints what works on this machine: sandboxes, limits of programs, and features of Node.js. With a config, also prints
 * whether its stores and peers can be used, and what the config uses that cannot be enforced.
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

/** Finds who can answer whom, even without the tokens: `check` reports the problems of the server. */
async function findAnswering({ source }: Config): Promise<readonly Answering[]> {
  return whoAnswers(await loadServer(source, []));
}

/** Finds the tools whose sandboxes do not work, and the grants that their sandboxes cannot enforce. */
async function findMissing(
  { source, tools, registry, sandboxOptions, locatedPolicies }: Config,
  { sandboxes: reports }: MachineReport,
): Promise<readonly ConfigProblem[]> {
  await using sandboxes = await openSandboxes(sandboxOptions);
  const grants = await checkGrants(locatedPolicies, registry.tools, sandboxes);
  const unenforced = tools.flatMap(({ tool, path }) =>
    sandboxesOf(tool).flatMap((mode) => {
      const found = reports[mode];
      return found.holds ? [] : [source.problem([...path, mode], reasonOf(found), "error", "key")];
    }),
  );
  return [...unenforced, ...grants];
}

/** Describes what works on this machine, in lines. */
function describeMachine(
  { node, sandboxes, process: program, microvm }: MachineReport,
  clock: string,
): readonly ShownText[] {
  const { bubblewrap = "not installed", seccomp, userNamespaces, cgroups } = program;
  const { max, unprivilegedClone, apparmorRestricts } = userNamespaces;
  const settings = [
    ["user.max_user_namespaces", max],
    ["kernel.unprivileged_userns_clone", unprivilegedClone],
    ["kernel.apparmor_restrict_unprivileged_userns", apparmorRestricts],
  ].flatMap(([name, value]) => (value === undefined ? [] : [`${name} = ${value}`]));
  return [
    shown`Node.js: ${node.version}; JSPI: ${node.jspi ? "available" : "missing"}; node:ffi: ${node.ffi}`,
    heading("sandboxes"),
    ...Object.entries(sandboxes).map(([mode, found]) => shown`  ${mode}: ${wordsOf(found)}`),
    heading("programs (sandbox process)"),
    shown`  isolation: ${program.isolation}`,
    ...Object.entries(program.isolations).map(([name, found]) => shown`    ${name}: ${wordsOf(found)}`),
    ...Object.entries(program.notEnforced).map(([name, what]) => shown`    not enforced: ${name}: ${what}`),
    shown`  network: ${wordsOf(program.network)}`,
    shown`  bubblewrap: ${bubblewrap}`,
    shown`  seccomp filter: ${seccomp ? "available" : `none for ${process.platform} on ${process.arch}`}`,
    shown`  user namespaces: ${settings.join(", ") || "no settings found"}`,
    ...Object.entries(cgroups).map(
      ([name, found]) =>
        shown`  cgroup ${name}: ${"version" in found ? `version ${found.version}` : found.reason}`,
    ),
    shown`  limits:`,
    ...Object.entries(program.limits).map(([name, found]) => shown`    ${name}: ${wordsOf(found)}`),
    ...describeMicrovm(microvm),
    shown`clock: ${clock} (UTC)`,
  ];
}

function describeMicrovm(found: MachineReport["microvm"]): readonly ShownText[] {
  if (!found.available) return [];
  const [version = ""] = found.qemu.split("\n", 1);
  return [
    heading("virtual machines (sandbox microvm)"),
    shown`  QEMU: ${version}; ${found.isConfined ? "confined with bubblewrap" : "not confined with bubblewrap"}`,
    shown`  kernel: ${found.kernel}`,
    shown`  KVM: ${found.withoutKvm === undefined ? "can be tried" : `not available: ${found.withoutKvm}`}`,
  ];
}

/** Describes the stores and peers of a config, in lines. */
function describePlaces({ stores, peers }: Places): readonly ShownText[] {
  return [
    ...(stores.length > 0 ? [heading("stores")] : []),
    ...stores.map(({ name, path, state }) => shown`  ${name}: ${path}: ${wordsOf(state)}`),
    ...(peers.length > 0 ? [heading("peers")] : []),
    ...peers.map(({ kind, url, state, clockAheadS }) => {
      const clock = clockAheadS === undefined ? "" : `; its clock is ${clockAheadS} s ahead`;
      return shown`  ${kind} ${url}: ${wordsOf(state)}${clock}`;
    }),
  ];
}

function heading(text: string): ShownText {
  return styled("heading", new ShownText(`${text}:`));
}

/** Returns whether something works, in words. */
function wordsOf(found: Holding): ShownText {
  if (found.holds) return styled("good", shown`works`);
  return shown`${styled("caution", shown`does not work`)}: ${reasonOf(found)}`;
}

/** Returns why something does not work, and the remedy. */
function reasonOf({ reason, remedy }: Extract<Holding, { holds: false }>): string {
  return remedy === undefined ? reason : `${reason} (remedy: ${remedy})`;
}

/** Checks the stores and the peers of a config at once. */
async function reportPlaces(
  loaded: Config,
  servers: Readonly<Record<string, ImportedServerOptions>>,
): Promise<Places> {
  const [stores, peers] = await Promise.all([
    reportStores(loaded),
    reportPeers(loaded.tools, servers, loaded.sandboxOptions),
  ]);
  return { stores, peers };
}

/**
 * Sends a request to each executor and each HTTP MCP server of a config. Calls no tool, and sends no tokens
 * or signatures.
 */
async function reportPeers(
  tools: readonly ConfiguredTool[],
  servers: Readonly<Record<string, ImportedServerOptions>>,
  { remote }: Pick<SandboxesOptions, "remote">,
): Promise<PeerReport[]> {
  const executors = new Map<string, ExecutorAddress>();
  for (const { tool } of tools) {
    if (!isExecutorImplementation(tool.remote)) continue;
    const parsed = parseExecutors(tool.remote.executor);
    if (typeof parsed !== "string") for (const address of parsed) executors.set(address.url, address);
  }
  const urls = Object.values(servers).flatMap((server) => ("url" in server ? [String(server.url)] : []));
  return Promise.all([
    ...Array.from(executors.values(), (address) => reportExecutor(address, remote)),
    ...[...new Set(urls)].map((url) => reportServer(url)),
  ]);
}

/** Checks that the stores of a config can be written, and that this version can read them. Changes nothing. */
async function reportStores({ source, sessions, journalOptions }: Config): Promise<StoreReport[]> {
  const reports: StoreReport[] = [];
  if (source.at(["sessions"]) !== undefined || source.at(["server", "sessions"]) === true) {
    const path = sessions.storeFile;
    reports.push({
      name: "sessions",
      path,
      state: await stateOf(path, () => checkSqliteFile(path, SESSIONS_FILE)),
    });
  }
  if (journalOptions !== undefined) {
    const path = journalOptions.directory;
    reports.push({ name: "journal", path, state: await stateOf(path) });
  }
  return reports;
}

async function stateOf(path: string, checkFormat: () => void = () => {}): Promise<Holding> {
  try {
    const isThere = await exists(path);
    const place = isThere ? path : await nearestFolder(path);
    await access(place, constants.W_OK);
    if (isThere) checkFormat();
    const { bavail, bsize } = await statfs(place);
    if (bavail * bsize >= MIN_FREE_BYTES) return { holds: true };
    const reason = `the disk has only ${formatBytes(bavail * bsize)} left`;
    return { holds: false, reason, remedy: "free space, or use another disk" };
  } catch (error) {
    return { holds: false, reason: (error as Error).message };
  }
}

/** Returns the folder in which a missing file or directory would be created. */
async function nearestFolder(path: string): Promise<string> {
  const folder = dirname(path);
  return folder === path || (await exists(folder)) ? folder : nearestFolder(folder);
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
}
