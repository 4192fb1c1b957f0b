import { type ChildProcess, execFile, spawn } from "node:child_process";
import { closeSync, existsSync, rmSync } from "node:fs";
import { isBuiltin } from "node:module";
import type { Socket } from "node:net";
import type { Readable } from "node:stream";
import { promisify } from "node:util";
import type { QueueOwner } from "../../../base/fair-queue.ts";
import { entryFile } from "../../../base/package-files.ts";
import { makeTemporaryDirectory } from "../../../base/temporary-directory.ts";
import type { FsGrant } from "../../../policy/grant/fs-grant.ts";
import type { ResourceLimits } from "../../../policy/grant/limits.ts";
import type { Launch, Launched, Launcher } from "../launcher.ts";
import { CONFIGURATION, SYSTEM_DIRECTORIES } from "../namespaces/system-files.ts";
import { closeOf, exitOf, InputFile, type ProgramPipe, ProgramPipes } from "../program-pipes.ts";
import { seccompFilter } from "../seccomp-filter.ts";
import { GrantedPaths } from "./granted-paths.ts";
import { type GrantedPath, type LaunchPlan, NODE_OPTIONS } from "./launch-plan.ts";

/**
 * The minimum version of Landlock's interface, of Linux 6.12. With earlier ones, programs could send signals
 * to any process of the user, including this one.
 */
const LEAST_VERSION = 6;

/** Devices that programs expect, and that reach nothing. */
const DEVICES = ["full", "null", "random", "urandom", "zero"];

/** Files of `/proc` about the machine, not about its processes. */
const MACHINE = ["cpuinfo", "filesystems", "loadavg", "meminfo", "stat", "uptime", "version"];

/**
 * Further files of `/etc` that programs need. With namespaces, they would not exist, and programs do without
 * them; but some programs exit if a file exists and cannot be read.
 */
const EXISTING = ["bash.bashrc", "nsswitch.conf", "profile", "ssl/certs", "ssl/openssl.cnf"];

/** RLIMIT_CPU and RLIMIT_CORE of Linux. */
const CPU_SECONDS = 0;

const CORE_BYTES = 4;

/**
 * Launches programs that confine themselves with Landlock and a seccomp filter before they begin, where there are no
 * namespaces: `NOT_ENFORCED` in process-report.ts says what this leaves open.
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
      PATH: "/usr/bin:/bin",
      HOME: temporary,
      TMPDIR: temporary,
      LANG: "C.UTF-8",
      // It would exit if a configuration exists and cannot be read.
      GIT_CONFIG_NOSYSTEM: "1",
      ...env,
    };
    const plan: LaunchPlan = {
      command,
      args,
      directory: files.workingDirectory,
      cwd,
      filter: this.#filter,
      env: Object.entries(variables).map(([name, value]) => `${name}=${value}`),
      paths: [...this.#system, ...files.paths],
      limits: limitsOf(limits),
      addressSpaceBytes: limits.processMemoryBytes,
      cgroups: cgroup?.processFiles ?? [],
      hasChannel,
      hasInput: hasInput || program.stdin !== "",
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

  /** Starts a supervisor, which does not depend on a call until it gets its plan. */
  #startSupervisor({
    hasChannel,
    hasInput,
  }: Pick<Launch, "hasChannel" | "hasInput"> = {}): LaunchedOnLandlock {
    const supervisor = entryFile("sandboxes/process/landlock/child/supervisor");
    const input = hasInput ? this.#pipes.toProgram() : new InputFile(this.#directory);
    const [stdout, stderr] = [this.#pipes.fromProgram(), this.#pipes.fromProgram()];
    const child = spawn(process.execPath, [...NODE_OPTIONS, supervisor], {
      env: {},
      cwd: "/",
      stdio: [input.fd, stdout.fd, stderr.fd, "pipe", "pipe", hasChannel ? "pipe" : "ignore"],
    });
    const ends = [stdout, stderr, ...(input instanceof InputFile ? [] : [input])];
    for (const { fd } of ends) closeSync(fd);
    return new LaunchedOnLandlock(child, input, stdout.stream, stderr.stream);
  }
}

function limitsOf({ cpuMs }: ResourceLimits): LaunchPlan["limits"] {
  const seconds = Math.ceil((cpuMs ?? 0) / 1_000);
  return [
    [CORE_BYTES, 0, 0],
    // At the soft limit, a process gets SIGXCPU, from which the cause is known; at the hard limit SIGKILL.
    ...(cpuMs === undefined ? [] : [[CPU_SECONDS, seconds, seconds + 1] as const]),
  ];
}

/** The paths of the system that every program may use, as far as they exist. */
function systemPaths(): readonly GrantedPath[] {
  const read = [
    ...SYSTEM_DIRECTORIES,
    ...[...CONFIGURATION, ...EXISTING].map((name) => `/etc/${name}`),
    ...MACHINE.map((name) => `/proc/${name}`),
  ];
  return [
    ...read.map((path) => ({ path, access: "read" }) as const),
    ...DEVICES.map((name) => ({ path: `/dev/${name}`, access: "device" }) as const),
  ].filter(({ path }) => existsSync(path));
}

/** Returns why programs cannot be confined with Landlock on this machine; `undefined` if they can. */
export async function landlockProblem(): Promise<string | undefined> {
  if (process.platform !== "linux") return "programs can be confined on Linux only";
  if (seccompFilter() === undefined) return `there is no seccomp filter for ${process.arch}`;
  if (!isBuiltin("node:ffi")) return `Node.js ${process.versions.node} has no node:ffi, which Landlock needs`;
  if (!existsSync("/proc/self/stat")) return "Landlock needs /proc, to find the processes of a program";
  const probe = entryFile("sandboxes/process/landlock/child/probe");
  let version: number;
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [...NODE_OPTIONS, probe], { env: {} });
    version = Number(stdout);
  } catch (error) {
    const { stderr = "" } = error as { readonly stderr?: string };
    return `Node.js cannot be started to find Landlock: ${stderr.trim()}`;
  }
  if (version >= LEAST_VERSION) return undefined;
  if (version === 0) return "the kernel has no Landlock, or it is not in its list of security modules (lsm=)";
  return `Landlock is too old: version ${version} of its interface, and ${LEAST_VERSION} (Linux 6.12) is needed`;
}

/** Maximum number of supervisors that wait. Each is a process of Node.js, with its memory. */
const MOST = 2;

/** Milliseconds after which a supervisor is not used any more. */
const MAX_AGE_MS = 60_000;

interface IdleSupervisor {
  readonly supervisor: LaunchedOnLandlock;
  readonly expiry: NodeJS.Timeout;
}

/** Supervisors that wait for the next calls, with any grants. Each is used for one call. */
class SupervisorPool {
  readonly #start: () => LaunchedOnLandlock;
  readonly #ending = new Set<Promise<unknown>>();
  /** The oldest first: it is most likely to be ready. */
  #waiting: readonly IdleSupervisor[] = [];
  #closed = false;

  /** @param start Starts a supervisor. */
  constructor(start: () => LaunchedOnLandlock) {
    this.#start = start;
  }

  /** Returns a supervisor: one that waits, or a new one. */
  take(): LaunchedOnLandlock {
    const found = this.#waiting.find(({ supervisor }) => !supervisor.hasExited);
    if (found === undefined) return this.#start();
    this.#remove(found);
    found.supervisor.keepAlive(true);
    return found.supervisor;
  }

  /** Starts a supervisor for the next call, in a later turn of the event loop. */
  prepare(): void {
    setImmediate(() => this.#add()).unref();
  }

  #add(): void {
    if (this.#closed || this.#waiting.length >= MOST) return;
    const supervisor = this.#start();
    supervisor.keepAlive(false);
    const expiry = setTimeout(() => this.#discard(waiting), MAX_AGE_MS).unref();
    const waiting: IdleSupervisor = { supervisor, expiry };
    this.#waiting = [...this.#waiting, waiting];
    void supervisor.exited.then(() => this.#remove(waiting));
  }

  #discard(waiting: IdleSupervisor): void {
    this.#remove(waiting);
    const { supervisor } = waiting;
    // Its end can be waited for.
    supervisor.keepAlive(true);
    supervisor.kill();
    supervisor.discard();
    const ended = supervisor.exited.finally(() => this.#ending.delete(ended));
    this.#ending.add(ended);
  }

  #remove(waiting: IdleSupervisor): void {
    clearTimeout(waiting.expiry);
    this.#waiting = this.#waiting.filter((each) => each !== waiting);
  }

  /** Ends the supervisors that wait, and waits until they have ended. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const waiting of this.#waiting) this.#discard(waiting);
    await Promise.all(this.#ending);
  }
}

/** A program on Landlock, with the supervisor that waits for it: see `child/supervisor.ts`. */
class LaunchedOnLandlock implements Launched {
  readonly stdin: Socket | undefined;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly channel: Socket | undefined;
  readonly pid: Promise<number | undefined>;
  readonly exited: Promise<number>;
  readonly closed: Promise<void>;
  readonly #child: ChildProcess;
  readonly #input: InputFile | undefined;
  readonly #control: Socket;
  readonly #streams: readonly Socket[];
  #startOutput = "";
  #isReady = false;
  #plan: LaunchPlan | undefined;
  #hasPlan = false;

  /**
   * @param child The supervisor, which will wait for its plan.
   * @param input The standard input of the program: a pipe, or a file for a text.
   */
  constructor(child: ChildProcess, input: ProgramPipe | InputFile, stdout: Socket, stderr: Socket) {
    const [, , , control, started, channel] = child.stdio as unknown as readonly [
      ...[null, null, null],
      ...[control: Socket, started: Socket, channel: Socket | null],
    ];
    this.#child = child;
    this.#input = input instanceof InputFile ? input : undefined;
    this.stdin = input instanceof InputFile ? undefined : input.stream;
    this.channel = channel ?? undefined;
    this.pid = Promise.resolve(child.pid);
    this.exited = exitOf(child);
    this.closed = closeOf(child, stdout, stderr);
    [this.stdout, this.stderr] = [stdout, stderr];
    this.#streams = [stdout, stderr, control, started, this.stdin, this.channel].filter(
      (stream) => stream !== undefined,
    );
    void this.exited.then(() => {
      this.stdin?.destroy();
      this.#input?.[Symbol.dispose]();
      // Output of a supervisor that still waited for a call is no longer read.
      if (this.#plan === undefined) this.discard();
    });
    started.on("data", (chunk: Buffer) => {
      this.#startOutput += chunk.toString("latin1");
    });
    this.#control = control;
    control.once("data", () => {
      this.#isReady = true;
      this.#passOn();
    });
    for (const stream of this.#streams) stream.on("error", () => {});
  }

  /**
   * Starts the program, as soon as the supervisor is ready.
   *
   * @param input The standard input, if that is a text.
   * @throws {Error} if the input is too long.
   */
  start(plan: LaunchPlan, input: string): void {
    this.#input?.write(input);
    this.#plan = plan;
    this.#passOn();
  }

  #passOn(): void {
    if (!this.#isReady || this.#plan === undefined || this.#child.killed) return;
    this.#hasPlan = true;
    this.#control.write(`${JSON.stringify(this.#plan)}\n`);
  }

  get hasExited(): boolean {
    return this.#child.pid === undefined || this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  get startOutput(): string {
    return this.#startOutput;
  }

  /**
   * The supervisor exits by itself only when all descendants of the program have ended. Without a plan, it
   * has no program.
   */
  get hasEnded(): boolean {
    return this.hasExited && (!this.#hasPlan || this.#child.signalCode === null);
  }

  terminate(): void {
    this.#control.write("t");
  }

  /** A supervisor without a plan may still be starting, and would read the message much later. */
  kill(): void {
    if (this.#hasPlan) this.#control.write("k");
    else this.#child.kill("SIGKILL");
  }

  keepAlive(keeps: boolean): void {
    // A socket that is closed would wait for its connection.
    for (const each of [this.#child, ...this.#streams.filter(({ destroyed }) => !destroyed)])
      if (keeps) each.ref();
      else each.unref();
  }

  discard(): void {
    for (const stream of this.#streams) stream.destroy();
    this.#input?.[Symbol.dispose]();
  }
}
