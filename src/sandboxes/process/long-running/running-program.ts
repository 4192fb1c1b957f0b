import type { Duplex, Readable, Writable } from "node:stream";
import { checkFsGrants, type FsGrant } from "../../../policy/grant/fs-grant.ts";
import { firstLimitBesides, type ResourceLimits } from "../../../policy/grant/limits.ts";
import { checkNetGrant, type NetGrant } from "../../../policy/grant/net-grant.ts";
import { isProgramText, isVariableName } from "../../../tool/implementations/process-implementation.ts";
import type { Isolation } from "../../../tool/sandbox-mode.ts";
import { ToolPreparationError } from "../../contract/sandbox.ts";
import { CallNetwork, type CallNetworkOptions, withNetwork } from "../call-network.ts";
import type { Cgroup, Cgroups } from "../cgroups.ts";
import {
  type GrantedFiles,
  type Launched,
  type Launcher,
  NO_DIRECTORY,
  OUTSIDE,
  STARTED,
} from "../launcher.ts";
import { enforceableLimits, KILL_GRACE_MS, PROCESS_DEFAULTS } from "../process-limits.ts";
import { MAX_PROGRAM_BYTES, type Program, programBytes } from "../program.ts";
import { ProgramEnd } from "../program-end.ts";
import { exposedText, madeTexts } from "../program-outcome.ts";

/** The limits of a program that runs until it ends by itself. `netBytes` is 256 MiB unless it is set. */
export type LongRunningLimits = Pick<
  ResourceLimits,
  "memoryBytes" | "processes" | "processMemoryBytes" | "cpuMs" | "netBytes"
>;

/** A program that is started confined and stays: see `Sandboxes.startConfinedProgram`. */
export interface ConfinedProgramOptions {
  /** A path in the sandbox, or a name that is looked up in `/usr/bin` and `/bin`. */
  readonly command: string;
  /** Default: none. */
  readonly args?: readonly string[];
  /**
   * Its variables in addition to `PATH`, `HOME` and `LANG`. The environment of this process is not passed on.
   */
  readonly env?: Readonly<Record<string, string>>;
  /** Relative to the first granted directory, and inside it. Default: that directory; `/tmp` if there is none. */
  readonly cwd?: string;
  /** Directories and files that it sees in addition to those of the system. Default: none. */
  readonly fs?: readonly FsGrant[];
  /**
   * Origins that it can reach, by a proxy, which needs namespaces; other requests are reported to `warn`. Default: it has no network,
   * and what it tries to reach is not reported.
   */
  readonly net?: readonly NetGrant[];
  /** Default: only `netBytes`. */
  readonly limits?: LongRunningLimits;
  /** Whether it gets a socket as its descriptor 3, whose other end is {@link ConfinedProgram.channel}. Default: false. */
  readonly channel?: boolean;
  /** Gets texts for operators, such as a request that was refused. Default: they are dropped. */
  readonly warn?: (text: string) => void;
}

/** How a long-running program ended. */
export interface LongRunningEnd {
  /**
   * Its exit code, or 128 and the number of the signal that ended it, also before it began; `undefined` if its processes could
   * not be ended.
   */
  readonly code: number | undefined;
  /** Whether the program itself began. If it did not, `problem` says why. */
  readonly hasBegun: boolean;
  /** Why it did not begin, or was ended without a request to do so. For operators. */
  readonly problem?: string;
  /** Whether all its processes have certainly ended. */
  readonly ended: "confirmed" | "requested";
}

/**
 * A program that runs until it ends, is stopped, or this process ends. What it writes is hostile, and waits in its pipes
 * until it is read. Read or resume all its outputs: it has ended only when they have.
 */
export interface LongRunningProgram extends AsyncDisposable {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Absent unless it was asked for. */
  readonly channel?: Duplex;
  /**
   * Resolves to the id, on this machine, of the process whose end also ends all other processes of the
   * program; to `undefined` if it could not be started.
   */
  readonly pid: Promise<number | undefined>;
  /** Resolves when the program has exited, although its outputs may not have been read to their ends. Never rejects. */
  readonly exited: Promise<void>;
  /** Resolves when all its processes have ended, or could not be ended. Never rejects. */
  readonly ended: Promise<LongRunningEnd>;
  /**
   * Ends it: with SIGTERM to its process group, and after a time SIGKILL to all its processes. Can be repeated.
   *
   * @param graceMs Milliseconds between the two. Default: 5,000; 0: it is killed at once.
   */
  stop(graceMs?: number): Promise<LongRunningEnd>;
}

/** A program that runs confined: the kernel ends all its processes with it. */
export interface ConfinedProgram extends LongRunningProgram {
  readonly isolation: Isolation;
}

/** What a program is started with. */
interface Confinement {
  readonly launcher: Launcher;
  readonly cgroups: Cgroups;
  readonly openEgress: CallNetworkOptions["openEgress"];
}

/** What is released when the program has ended. */
interface ProgramResources {
  files?: GrantedFiles;
  cgroup?: Cgroup | undefined;
  network?: CallNetwork | undefined;
}

/**
 * Starts a long-running program.
 *
 * @throws {ToolPreparationError} if it cannot be confined as asked. The message says why.
 * @throws {TypeError} if an option is invalid.
 */
export async function startRunningProgram(
  options: ConfinedProgramOptions,
  { launcher, cgroups, openEgress }: Confinement,
): Promise<RunningProgram> {
  const program = checkProgram(options);
  const { limits = {}, warn = () => {} } = options;
  const fs = checkFsGrants(options.fs ?? []);
  const grants = (options.net ?? []).map(checkNetGrant);
  const unenforced = firstLimitBesides(limits, enforceableLimits(cgroups, launcher.isolation));
  if (unenforced !== undefined)
    throw new ToolPreparationError(`the limit '${unenforced}' cannot be enforced here`);
  if (grants.length > 0 && launcher.isolation !== "namespaces")
    throw new ToolPreparationError("a program has a network only with namespaces");
  const resources: ProgramResources = {};
  try {
    resources.files = await launcher.openFiles(fs, {}, "lasting");
    resources.cgroup = cgroups.create(limits, launcher.ownProcesses);
    const { netBytes = PROCESS_DEFAULTS.netBytes } = limits;
    if (options.net !== undefined && launcher.isolation === "namespaces")
      resources.network = new CallNetwork({ openEgress, grants, netBytes, warn });
    const launched = launcher.launch({
      program: withNetwork(program, resources.network),
      files: resources.files,
      limits,
      cgroup: resources.cgroup,
      listener: resources.network?.listener,
      hasInput: true,
      hasChannel: options.channel === true,
    });
    return new RunningProgram(launched, resources, launcher.isolation, warn);
  } catch (error) {
    await release(resources);
    throw error instanceof TypeError ? error : new ToolPreparationError((error as Error).message);
  }
}

/** A program that runs until it is ended, with its resources. */
export class RunningProgram implements ConfinedProgram {
  readonly isolation: Isolation;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly channel?: Duplex;
  readonly pid: Promise<number | undefined>;
  readonly exited: Promise<void>;
  readonly ended: Promise<LongRunningEnd>;
  readonly #launched: Launched;
  readonly #end: ProgramEnd;
  #grace: NodeJS.Timeout | undefined;
  /** Why it was ended here. */
  #problem: string | undefined;

  constructor(
    launched: Launched,
    resources: ProgramResources,
    isolation: Isolation,
    warn: (text: string) => void,
  ) {
    this.#launched = launched;
    this.isolation = isolation;
    this.stdin = launched.stdin as Writable;
    this.stdout = launched.stdout;
    this.stderr = launched.stderr;
    if (launched.channel !== undefined) this.channel = launched.channel;
    this.pid = launched.pid;
    this.#end = new ProgramEnd(launched);
    this.exited = this.#end.exited.then(() => {});
    resources.files?.onExposed((path) => {
      this.#problem = exposedText(path);
      warn(this.#problem);
      this.#end.kill();
    });
    this.ended = this.#finish(resources, warn);
  }

  async stop(graceMs: number = KILL_GRACE_MS): Promise<LongRunningEnd> {
    const hasBegun = this.#launched.startOutput.startsWith(STARTED);
    if (graceMs === 0 || !hasBegun) this.#end.kill();
    else if (this.#grace === undefined) {
      this.#launched.terminate();
      this.#grace = setTimeout(() => this.#end.kill(), graceMs);
      void this.#end.exited.then(() => clearTimeout(this.#grace));
    }
    return this.ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop(0);
  }

  async #finish(resources: ProgramResources, warn: (text: string) => void): Promise<LongRunningEnd> {
    await this.#end.exited;
    const exitCode = await this.#end.finish();
    // The process that waits for it was killed, as happens to one that has no program yet.
    const code = exitCode === -1 ? KILLED : exitCode;
    for (const text of resources.files === undefined ? [] : madeTexts(await resources.files.moveAside()))
      warn(text);
    await release(resources);
    const { startOutput, problem } = this.#launched;
    const hasBegun = startOutput.startsWith(STARTED);
    return {
      code,
      hasBegun,
      ended: code === undefined ? "requested" : "confirmed",
      ...(!hasBegun && { problem: problem ?? startProblem(startOutput) }),
      ...(this.#problem !== undefined && { problem: this.#problem }),
    };
  }
}

/** 128 and the number of SIGKILL. */
const KILLED = 137;

async function release({ files, cgroup, network }: ProgramResources): Promise<void> {
  network?.[Symbol.dispose]();
  await files?.[Symbol.asyncDispose]();
  await cgroup?.[Symbol.asyncDispose]();
}

function startProblem(output: string): string {
  if (output.startsWith(NO_DIRECTORY)) return "its working directory does not exist";
  if (output.startsWith(OUTSIDE)) return "its working directory is not in a directory that it was granted";
  return "the sandbox could not be made";
}

/** @throws {TypeError} if it is not a program that can be started. */
function checkProgram({ command, args = [], env = {}, cwd }: ConfinedProgramOptions): Program {
  const texts = [command, ...args, ...Object.values(env), ...(cwd === undefined ? [] : [cwd])];
  if (command === "" || !texts.every(isProgramText))
    throw new TypeError("command, args, env and cwd must be strings without NUL, and command not empty");
  const wrong = Object.keys(env).find((name) => !isVariableName(name));
  if (wrong !== undefined) throw new TypeError(`env: '${wrong}' is not the name of a variable`);
  const program: Program = { command, args: [...args], env: { ...env }, cwd, stdin: "" };
  if (programBytes(program) <= MAX_PROGRAM_BYTES) return program;
  throw new TypeError(
    `the arguments and variables of a program have at most ${MAX_PROGRAM_BYTES / 1_024} KiB together`,
  );
}
