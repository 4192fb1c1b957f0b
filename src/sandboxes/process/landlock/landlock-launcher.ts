import { spawn } from "node:child_process";
import { closeSync, rmSync } from "node:fs";
import { entryFile } from "../../../base/entry-file.ts";
import type { QueueOwner } from "../../../base/fair-queue.ts";
import { makeTemporaryDirectory } from "../../../base/temporary-directory.ts";
import type { FsGrant } from "../../../policy/grant/fs-grant.ts";
import type { ResourceLimits } from "../../../policy/grant/limits.ts";
import type { Launch, Launched, Launcher } from "../launcher.ts";
import { InputFile, ProgramPipes } from "../program-pipes.ts";
import { seccompFilter } from "../seccomp/filter.ts";
import { landlockProblem } from "./availability.ts";
import { GrantedPaths } from "./granted-paths.ts";
import type { GrantedPath, LaunchPlan } from "./launch-plan.ts";
import { LaunchedOnLandlock } from "./launched-on-landlock.ts";
import { NODE_OPTIONS } from "./node-options.ts";
import { SupervisorPool } from "./supervisor-pool.ts";
import { systemPaths } from "./system-paths.ts";

/** RLIMIT_CPU, RLIMIT_CORE and RLIMIT_AS of Linux. */
const CPU_SECONDS = 0;
const CORE_BYTES = 4;
const ADDRESS_SPACE_BYTES = 9;

/**
 * Launches programs that confine themselves with Landlock and a seccomp filter before they begin, where there are no
 * namespaces: see `not-held.ts`.
 */
export class LandlockLauncher implements Launcher<GrantedPaths> {
  readonly isolation = "landlock";
  readonly ownProcesses = 0;
  readonly #system: readonly GrantedPath[] = systemPaths();
  readonly #filter: string;
  readonly #pool = new SupervisorPool(() => this.#startSupervisor());
  readonly #directory: string;
  readonly #pipes: ProgramPipes;

  /** @throws {Error} if programs cannot be confined in this way here. The message says why. */
  static async open(): Promise<LandlockLauncher> {
    const problem = await landlockProblem();
    if (problem !== undefined) throw new Error(problem);
    const directory = makeTemporaryDirectory("process");
    try {
      return new LandlockLauncher(directory, await ProgramPipes.open(directory));
    } catch (error) {
      rmSync(directory, { recursive: true, force: true });
      throw error;
    }
  }

  private constructor(directory: string, pipes: ProgramPipes) {
    this.#directory = directory;
    this.#pipes = pipes;
    this.#filter = (seccompFilter({ isolation: "landlock" }) as Buffer).toString("base64");
  }

  openFiles(grants: readonly FsGrant[], owner: QueueOwner): Promise<GrantedPaths> {
    return GrantedPaths.open(grants, this.#system, owner);
  }

  launch({
    program,
    files,
    limits,
    cgroup,
    listener,
    hasChannel = false,
    hasInput = false,
  }: Launch<GrantedPaths>): Launched {
    if (listener !== undefined) throw new Error("programs on Landlock have no network");
    const { command, args, env, cwd } = program;
    const { temporary } = files;
    const variables = {
      ...{ PATH: "/usr/bin:/bin", HOME: temporary, TMPDIR: temporary, LANG: "C.UTF-8" },
      // A configuration that is there and cannot be read would end it.
      GIT_CONFIG_NOSYSTEM: "1",
      ...env,
    };
    const plan: LaunchPlan = {
      ...{ command, args, directory: files.workingDirectory, cwd, filter: this.#filter },
      env: Object.entries(variables).map(([name, value]) => `${name}=${value}`),
      paths: [...this.#system, ...files.paths],
      limits: limitsOf(limits),
      cgroups: cgroup?.processFiles ?? [],
      ...{ hasChannel, hasInput: hasInput || program.stdin !== "" },
    };
    // The program enters the cgroup immediately before it begins.
    cgroup?.enforce();
    const isPlain = !hasChannel && !hasInput;
    const launched = isPlain ? this.#pool.take() : this.#startSupervisor({ hasChannel, hasInput });
    launched.start(plan, program.stdin);
    files.launched = launched;
    return launched;
  }

  prepare(): void {
    this.#pool.prepare();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool.close();
    rmSync(this.#directory, { recursive: true, force: true });
  }

  /** Starts a supervisor, which knows nothing of a call until it gets its plan. */
  #startSupervisor({
    hasChannel,
    hasInput,
  }: Pick<Launch, "hasChannel" | "hasInput"> = {}): LaunchedOnLandlock {
    const supervisor = entryFile("sandboxes/process/landlock/child/supervisor");
    const input = hasInput ? this.#pipes.toProgram() : new InputFile(this.#directory);
    const [stdout, stderr] = [this.#pipes.fromProgram(), this.#pipes.fromProgram()];
    const child = spawn(process.execPath, [...NODE_OPTIONS, supervisor], {
      ...{ env: {}, cwd: "/" },
      stdio: [input.fd, stdout.fd, stderr.fd, "pipe", "pipe", hasChannel ? "pipe" : "ignore"],
    });
    const ends = [stdout, stderr, ...(input instanceof InputFile ? [] : [input])];
    for (const { fd } of ends) closeSync(fd);
    return new LaunchedOnLandlock(child, input, stdout.stream, stderr.stream);
  }
}

function limitsOf({ cpuMs, processMemoryBytes }: ResourceLimits): LaunchPlan["limits"] {
  const seconds = Math.ceil((cpuMs ?? 0) / 1_000);
  return [
    [CORE_BYTES, 0, 0],
    // At the soft limit, a process gets SIGXCPU, from which the cause is known; at the hard limit SIGKILL.
    ...(cpuMs === undefined ? [] : [[CPU_SECONDS, seconds, seconds + 1] as const]),
    ...(processMemoryBytes === undefined
      ? []
      : [[ADDRESS_SPACE_BYTES, processMemoryBytes, processMemoryBytes] as const]),
  ];
}
