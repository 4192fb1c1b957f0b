import { ConfigError, type ConfigProblem } from "../../config/problem.ts";
import { joinShown, shown } from "../../rendering/shown.ts";
import { ShownText } from "../../rendering/shown-text.ts";
import { type MachineReport, reportMachine } from "../../sandboxes/machine-report.ts";
import { openSandboxes } from "../../sandboxes/open-sandboxes.ts";
import { sandboxesOf } from "../../tool/implementations/implementations.ts";
import { type Config, loadConfig } from "../config/load-config.ts";
import { showProblems } from "../terminal/problems.ts";
import { EXIT_OK, EXIT_TOOL_FAILED, type ExitCode, print, type Terminal } from "../terminal/terminal.ts";
import { checkGrants } from "./check-grants.ts";

type Holding = MachineReport["sandboxes"]["process"];

/** Options of `sandgate doctor`. */
interface DoctorOptions {
  /** Default: none; the machine alone is reported. */
  readonly config: string | undefined;
  readonly json: boolean;
}

/**
 * Prints what holds on this machine: sandboxes, limits of programs, and features of Node.js. With a config, also prints
 * what the config uses that does not hold.
 *
 * @throws {ConfigError} if the config is invalid.
 */
export async function doctor(
  { config, json }: DoctorOptions,
  { stdout, stderr }: Terminal,
): Promise<ExitCode> {
  const loaded = config === undefined ? undefined : await loadChecked(config);
  const report = await reportMachine(loaded?.sandboxOptions);
  const problems = loaded === undefined ? [] : await findMissing(loaded, report);
  const missing = problems.filter(({ severity }) => severity === "error");
  if (json) {
    const text = JSON.stringify({ ...report, ...(config !== undefined && { missing }) }, null, 2);
    await print(stdout, new ShownText(text, { isData: true }));
  } else {
    await print(stdout, describe(report));
    await print(stderr, showProblems(problems));
  }
  return missing.length === 0 ? EXIT_OK : EXIT_TOOL_FAILED;
}

/** @throws {ConfigError} if the config is invalid. */
async function loadChecked(file: string): Promise<Config> {
  const loaded = await loadConfig(file);
  if (loaded.problems.some(({ severity }) => severity === "error")) throw new ConfigError(loaded.problems);
  return loaded;
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

function describe({ node, sandboxes, process: program, microvm }: MachineReport): ShownText {
  const { bubblewrap = "not installed", seccomp, userNamespaces, cgroups } = program;
  const { max, unprivilegedClone, apparmorRestricts } = userNamespaces;
  const settings = [
    ["user.max_user_namespaces", max],
    ["kernel.unprivileged_userns_clone", unprivilegedClone],
    ["kernel.apparmor_restrict_unprivileged_userns", apparmorRestricts],
  ].flatMap(([name, value]) => (value === undefined ? [] : [`${name} = ${value}`]));
  return joinShown(
    [
      shown`Node.js: ${node.version}; JSPI: ${node.jspi ? "available" : "missing"}; node:ffi: ${node.ffi}`,
      shown`sandboxes:`,
      ...Object.entries(sandboxes).map(([mode, found]) => shown`  ${mode}: ${wordsOf(found)}`),
      shown`programs (sandbox process):`,
      shown`  isolation: ${program.isolation}`,
      ...Object.entries(program.isolations).map(([name, found]) => shown`    ${name}: ${wordsOf(found)}`),
      ...Object.entries(program.notHeld).map(([name, what]) => shown`    not held: ${name}: ${what}`),
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
    ],
    "\n",
  );
}

function describeMicrovm(found: MachineReport["microvm"]): readonly ShownText[] {
  if (!found.available) return [];
  const [version = ""] = found.qemu.split("\n", 1);
  return [
    shown`virtual machines (sandbox microvm):`,
    shown`  QEMU: ${version}; ${found.isConfined ? "confined with bubblewrap" : "not confined with bubblewrap"}`,
    shown`  kernel: ${found.kernel}`,
    shown`  KVM: ${found.withoutKvm === undefined ? "can be tried" : `not available: ${found.withoutKvm}`}`,
  ];
}

function wordsOf(found: Holding): string {
  return found.holds ? "holds" : `does not hold: ${reasonOf(found)}`;
}

function reasonOf({ reason, remedy }: Extract<Holding, { holds: false }>): string {
  return remedy === undefined ? reason : `${reason} (remedy: ${remedy})`;
}
