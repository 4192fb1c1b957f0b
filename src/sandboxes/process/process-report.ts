import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { promisify } from "node:util";
import { LIMIT_NAMES, type LimitName } from "../../policy/grant/limits.ts";
import { ISOLATIONS, type Isolation } from "../../tool/sandbox-mode.ts";
import type { Holding } from "../contract/holding.ts";
import { Cgroups } from "./cgroups.ts";
import { enforceableLimits } from "./process-limits.ts";
import { openLauncher, type ProcessSandboxOptions } from "./process-sandbox.ts";
import { seccompFilter } from "./seccomp-filter.ts";

/** What Landlock does not enforce. */
export type NotEnforced =
  | "attributes"
  | "existence"
  | "package files"
  | "processes"
  | "protected places"
  | "user"
  | "devices"
  | "host name"
  | "temporary files";

/**
 * What Landlock does not enforce and namespaces would, by name: `docs/programs.md` and `SECURITY.md` have the same list.
 * `npm run test:escapes` compares it with what gets out.
 */
export const NOT_ENFORCED: Readonly<Record<NotEnforced, string>> = Object.freeze({
  attributes: "mode, owner, times and extended attributes of all files that belong to the user",
  existence: "whether a file exists, its size and attributes, and when entries of a directory change",
  "package files":
    "the nearest package.json above a granted directory or file, which Node.js reads and ends without",
  processes: "which processes run, their sessions, and on which CPUs the user's processes run",
  "protected places": "until a program ends, what it makes there in a directory that is granted with write",
  user: "the program runs as the user that Sandgate runs as; as root, it owns root's files",
  devices: "device files in a granted directory",
  "host name": "the name of the machine",
  "temporary files": "the size of the temporary directory",
});

/** Settings of the kernel that decide who may create user namespaces; `undefined` where the kernel does not have one. */
interface UserNamespaces {
  /** `user.max_user_namespaces` */
  readonly max: number | undefined;
  /** `kernel.unprivileged_userns_clone`, of Debian's kernels. */
  readonly unprivilegedClone: number | undefined;
  /** `kernel.apparmor_restrict_unprivileged_userns`, of Ubuntu's kernels. */
  readonly apparmorRestricts: number | undefined;
}

const BUBBLEWRAP = "/usr/bin/bwrap";

/** How to get cgroups of one's own: see docs/programs.md. */
const DELEGATE = "have systemd delegate cgroups: Delegate=memory pids and DelegateSubgroup=main";

const LANDLOCK_KERNEL =
  "use Linux 6.12 or later, with landlock in the kernel's list of security modules (lsm=)";

/**
 * How to get `node:ffi`: some versions need an option for it, and others have it unless it is switched off.
 */
function ffiRemedy(): string {
  return process.allowedNodeEnvironmentFlags.has("--experimental-ffi")
    ? "start Node.js with --experimental-ffi"
    : "use Node.js 26 or later";
}

const HOLDS: Holding = { holds: true };
const NOT_CONFINED: Holding = { holds: false, reason: "programs cannot be confined here" };

/** What the sandbox `process` enforces on this machine. */
export interface ProcessReport {
  /** What confines programs; `none` if nothing can, so that they do not run. */
  readonly isolation: Isolation | "none";
  /** Whether programs can run. */
  readonly confinement: Holding;
  /** What could confine them, whether it is chosen or not. */
  readonly isolations: Readonly<Record<Isolation, Holding>>;
  /** What the isolation does not enforce, by its name in docs/programs.md. */
  readonly notEnforced: Readonly<Partial<Record<NotEnforced, string>>>;
  /** Whether a grant can have `net`. */
  readonly network: Holding;
  /** The version of bubblewrap; `undefined` if it is not installed. */
  readonly bubblewrap: string | undefined;
  /** Whether there is a seccomp filter for this architecture. */
  readonly seccomp: boolean;
  readonly userNamespaces: UserNamespaces;
  /** The controllers of the cgroups that calls can have. */
  readonly cgroups: { readonly [Controller in "memory" | "pids"]: CgroupReport };
  /** Which limits a grant can set. */
  readonly limits: Readonly<Record<LimitName, Holding>>;
}

/** Where the cgroups of calls can be created, or why they cannot be. */
export type CgroupReport = { readonly version: 1 | 2 } | { readonly reason: string };

/**
 * Finds out what the sandbox `process` enforces, by confining a program that does nothing.
 *
 * @param options The options for opening the sandbox.
 */
export async function reportProcess({
  isolation: required,
  bubblewrap: path = BUBBLEWRAP,
}: ProcessSandboxOptions = {}): Promise<ProcessReport> {
  const userNamespaces = readUserNamespaces();
  const bubblewrap = await versionOf(path);
  const seccomp = process.platform === "linux" && seccompFilter() !== undefined;
  const remedies: Readonly<Record<Isolation, string>> = {
    namespaces: bubblewrap === undefined ? "apt-get install bubblewrap" : namespaceRemedy(userNamespaces),
    landlock: isBuiltin("node:ffi") ? LANDLOCK_KERNEL : ffiRemedy(),
  };
  const report = async (isolation: Isolation): Promise<Holding> => {
    try {
      const { launcher } = await openLauncher(isolation, path);
      await launcher[Symbol.asyncDispose]();
      return { holds: true };
    } catch (error) {
      const { message: reason } = error as Error;
      return { holds: false, reason, ...(seccomp && { remedy: remedies[isolation] }) };
    }
  };
  const isolations = { namespaces: await report("namespaces"), landlock: await report("landlock") };
  const accepted = required === undefined ? ISOLATIONS : [required];
  const isolation = accepted.find((name) => isolations[name].holds);
  const cgroups = new Cgroups();
  return {
    isolation: isolation ?? "none",
    confinement: isolation === undefined ? joinReasons(accepted.map((name) => isolations[name])) : HOLDS,
    isolations,
    notEnforced: isolation === "landlock" ? NOT_ENFORCED : {},
    network: networkOf(isolation, isolations.namespaces),
    bubblewrap,
    seccomp,
    userNamespaces,
    cgroups: { memory: reportOf(cgroups.memory), pids: reportOf(cgroups.pids) },
    limits: limitsOf(cgroups, isolation),
  };
}

/** Why nothing works, with the remedy for the strongest isolation. */
function joinReasons(reports: readonly Holding[]): Holding {
  const unenforced = reports.filter((found) => !found.holds);
  const remedy = unenforced[0]?.remedy;
  return {
    holds: false,
    reason: unenforced.map(({ reason }) => reason).join("; "),
    ...(remedy !== undefined && { remedy }),
  };
}

function networkOf(isolation: Isolation | undefined, namespaces: Holding): Holding {
  if (isolation === "namespaces") return HOLDS;
  if (isolation === undefined) return NOT_CONFINED;
  const remedy = namespaces.holds ? "do not require the isolation 'landlock'" : namespaces.remedy;
  const reason = "programs on Landlock have no network";
  return { holds: false, reason, ...(remedy !== undefined && { remedy }) };
}

function limitsOf(cgroups: Cgroups, isolation: Isolation | undefined): ProcessReport["limits"] {
  const enforceable = isolation === undefined ? [] : enforceableLimits(cgroups, isolation);
  const because = (name: LimitName): Holding => {
    if (enforceable.includes(name)) return HOLDS;
    if (isolation === undefined) return NOT_CONFINED;
    if (name === "netBytes") return { holds: false, reason: "programs on Landlock have no network" };
    const found = name === "memoryBytes" ? cgroups.memory : name === "processes" ? cgroups.pids : undefined;
    if (typeof found !== "string") return { holds: false, reason: "programs do not have it" };
    // In namespaces, only root is exempt from the limit of setrlimit(2).
    const isExempt = name === "processes" && isolation === "namespaces";
    return {
      holds: false,
      reason: found,
      remedy: isExempt ? `${DELEGATE}; or do not run as root` : DELEGATE,
    };
  };
  return Object.fromEntries(LIMIT_NAMES.map((name) => [name, because(name)])) as ProcessReport["limits"];
}

function reportOf(found: Cgroups["memory"]): CgroupReport {
  return typeof found === "string" ? { reason: found } : { version: found.version };
}

async function versionOf(path: string): Promise<string | undefined> {
  try {
    const { stdout } = await promisify(execFile)(path, ["--version"], { env: {} });
    return /[0-9]+(?:\.[0-9]+)+/.exec(stdout)?.[0];
  } catch {
    return undefined;
  }
}

function readUserNamespaces(): UserNamespaces {
  return {
    max: numberIn("/proc/sys/user/max_user_namespaces"),
    unprivilegedClone: numberIn("/proc/sys/kernel/unprivileged_userns_clone"),
    apparmorRestricts: numberIn("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
  };
}

/** Returns what an administrator can do so that bubblewrap may create namespaces. */
function namespaceRemedy(settings: UserNamespaces): string {
  const { max, unprivilegedClone, apparmorRestricts } = settings;
  if (max === 0) return "sysctl -w user.max_user_namespaces=15000";
  if (unprivilegedClone === 0) return "sysctl -w kernel.unprivileged_userns_clone=1";
  if (apparmorRestricts === 1)
    return "install the AppArmor profile bwrap-userns-restrict, or sysctl -w kernel.apparmor_restrict_unprivileged_userns=0";
  return "in a container, permit user namespaces: its seccomp or AppArmor profile forbids them";
}

function numberIn(file: string): number | undefined {
  try {
    return Number(readFileSync(file, "utf8"));
  } catch {
    return undefined;
  }
}
