import { execFile, spawn } from "node:child_process";
import { closeSync, openSync, readdirSync, readSync, writeFileSync } from "node:fs";
import type { Socket } from "node:net";
import { join } from "node:path";
import type { Duplex, Readable, Writable } from "node:stream";
import { promisify } from "node:util";
import type { QueueOwner } from "../../../base/fair-queue.ts";
import type { FsGrant } from "../../../policy/grant/fs-grant.ts";
import type { FileUse, Launch, Launched, Launcher } from "../launcher.ts";
import { InputFile, openNameless, ProgramPipes } from "../program-pipes.ts";
import { seccompFilter } from "../seccomp-filter.ts";
import { GrantedMounts } from "./granted-mounts.ts";
import { PreparedSandbox, SandboxPool } from "./sandbox-pool.ts";
import { type FirstProcess, runScript, startScript } from "./start-script.ts";
import { SystemFiles, USER_ID } from "./system-files.ts";

/** O_CLOEXEC on Linux (asm-generic/fcntl.h). */
const CLOSED_ON_EXEC = 0o2000000;

/** What the kernel says of a descriptor: the flags are in the second line. A process can have thousands. */
const info = Buffer.alloc(128);

/** The descriptors of a launched process after the standard ones. */
const ARGS_FD = 3;

/** After the descriptor of the script, 4. */
const GATE_FD = 5;

/** After those of the start script, whose numbers must be less than 10: see `START_FDS`. Bubblewrap alone has these. */
const STATUS_FD = 10;

const FILTER_FD = 11;

const FIRST_MOUNT_FD = 12;

const NO_HAND_OVER = ["ignore", "ignore"] as const;

const ENVIRONMENT = { PATH: "/usr/bin:/bin", HOME: "/tmp", LANG: "C.UTF-8" };

/**
 * Launches programs with bubblewrap: in namespaces of their own, with the system's directories read-only, the granted
 * ones, and a seccomp filter. See bwrap(1).
 */
export class Bubblewrap implements Launcher<GrantedMounts> {
  readonly isolation = "namespaces";
  /** The first process of the sandbox. */
  readonly ownProcesses = 1;
  readonly #pool = new SandboxPool((mounts) => this.makeSandbox(mounts));
  readonly #path: string;
  readonly #system: SystemFiles;
  readonly #pipes: ProgramPipes;
  /** The file of the filter. */
  readonly #filter: string;

  /**
   * Opens bubblewrap.
   *
   * @throws {Error} if it is not installed, or the kernel does not let it create namespaces. The message says which.
   */
  static async open(path = "/usr/bin/bwrap"): Promise<Bubblewrap> {
    const filter = seccompFilter();
    if (process.platform !== "linux") throw new Error("programs can be confined on Linux only");
    if (filter === undefined) throw new Error(`there is no seccomp filter for ${process.arch}`);
    const system = new SystemFiles();
    try {
      await checkBubblewrap(path, system);
      const pipes = await ProgramPipes.open(system.directory);
      return new Bubblewrap(path, system, pipes, filter);
    } catch (error) {
      system[Symbol.dispose]();
      throw error;
    }
  }

  private constructor(path: string, system: SystemFiles, pipes: ProgramPipes, filter: Buffer) {
    this.#path = path;
    this.#system = system;
    this.#pipes = pipes;
    this.#filter = join(system.directory, "seccomp");
    writeFileSync(this.#filter, filter);
  }

  openFiles(grants: readonly FsGrant[], owner: QueueOwner, use: FileUse): Promise<GrantedMounts> {
    return GrantedMounts.open(grants, owner, use);
  }

  launch(launch: Launch<GrantedMounts>): Launched {
    const { files, listener } = launch;
    const isPlain = listener === undefined && launch.hasChannel !== true && launch.hasInput !== true;
    const sandbox = isPlain ? this.#pool.take(files) : this.makeSandbox(files, launch);
    return new LaunchedInNamespaces(sandbox, launch);
  }

  prepare(grants: readonly FsGrant[], owner: QueueOwner): void {
    void this.#pool.prepare(grants, owner);
  }

  /**
   * Makes a sandbox that waits for its program. The mounts can be closed afterwards.
   *
   * @param ways.listener Gets the listening socket of the sandbox. Default: the sandbox has no network.
   * @param ways.hasChannel Whether the program gets a socket in addition to its standard streams. Default:
   *   false.
   * @param ways.hasInput Whether its standard input is a stream. Default: it is a text, which is given when
   *   it starts.
   */
  makeSandbox(
    mounts: GrantedMounts,
    { listener, hasChannel, hasInput = false }: Pick<Launch, "listener" | "hasChannel" | "hasInput"> = {},
  ): PreparedSandbox {
    const filter = openSync(this.#filter, "r");
    const nothing = openSync("/dev/null", "r");
    const { directory } = this.#system;
    const status = openNameless(directory, "status");
    const input = hasInput ? this.#pipes.toProgram() : new InputFile(directory);
    const outputs = [this.#pipes.fromProgram(), this.#pipes.fromProgram()] as const;
    try {
      const channel = hasChannel ? "pipe" : "ignore";
      const handOver = listener === undefined ? NO_HAND_OVER : (["ipc", listener.nodeFd] as const);
      const child = spawn(this.#path, ["--args", `${ARGS_FD}`, "--", ...runScript()], {
        // Its environment can be read in the sandbox, as that of process 1.
        env: {},
        stdio: [
          ...withoutLeaks(
            [
              ...([input.fd, "ignore", outputs[1].fd, "pipe", "pipe", "pipe", channel] as const),
              outputs[0].fd,
              ...handOver,
              status,
              filter,
              ...mounts.fds,
            ],
            nothing,
          ),
        ],
      });
      const [stdout, stderr] = outputs.map(({ stream }) => stream) as [Socket, Socket];
      const sandbox = new PreparedSandbox({ child, input, stdout, stderr, status, listener });
      const options = [
        ...isolation(),
        ...this.#system.args,
        ...(listener === undefined ? [] : this.#system.certificateArgs),
        ...mounts.args(FIRST_MOUNT_FD),
        "--seccomp",
        `${FILTER_FD}`,
        "--json-status-fd",
        `${STATUS_FD}`,
        "--block-fd",
        `${GATE_FD}`,
        ...Object.entries(ENVIRONMENT).flatMap(([name, value]) => ["--setenv", name, value]),
        "--chdir",
        mounts.workingDirectory,
        "--remount-ro",
        "/dev",
        "--remount-ro",
        "/",
      ];
      (child.stdio[ARGS_FD] as Writable).end(`${options.join("\0")}\0`);
      return sandbox;
    } catch (error) {
      closeSync(status);
      if (input instanceof InputFile) input[Symbol.dispose]();
      else input.stream.destroy();
      for (const { stream } of outputs) stream.destroy();
      throw error;
    } finally {
      const ends = [...outputs, ...(input instanceof InputFile ? [] : [input])].map(({ fd }) => fd);
      for (const fd of [filter, nothing, ...ends]) closeSync(fd);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool.close();
    this.#system[Symbol.dispose]();
  }
}

/** @throws {Error} if it cannot confine a program. The message says why. */
async function checkBubblewrap(path: string, system: SystemFiles): Promise<void> {
  try {
    await promisify(execFile)(path, [...isolation(), ...system.args, "--", "/bin/sh", "-c", ":"], {
      env: {},
    });
  } catch (error) {
    const { code, stderr = "" } = error as NodeJS.ErrnoException & { readonly stderr?: string };
    if (code === "ENOENT") throw new Error(`bubblewrap is not installed: there is no ${path}`);
    throw new Error(`bubblewrap cannot confine programs here: ${stderr.trim()}`);
  }
}

/** Replaces descriptors that the program would inherit unintentionally by `/dev/null`. */
function withoutLeaks(
  stdio: readonly ("pipe" | "ipc" | "ignore" | number)[],
  nothing: number,
): readonly ("pipe" | "ipc" | "ignore" | number)[] {
  const all: ("pipe" | "ipc" | "ignore" | number)[] = [...stdio];
  for (const fd of leakingDescriptors()) {
    if (fd < stdio.length && stdio[fd] !== "ignore") continue;
    // Descriptors from 3 on that are ignored are not changed.
    while (all.length < fd) all.push("ignore");
    all[fd] = nothing;
  }
  return all;
}

/** The options that separate a program from the machine. */
function isolation(): readonly string[] {
  return [
    "--unshare-all",
    "--unshare-user",
    "--disable-userns",
    "--die-with-parent",
    "--new-session",
    "--uid",
    `${USER_ID}`,
    "--gid",
    `${USER_ID}`,
    "--cap-drop",
    "ALL",
    "--hostname",
    "sandbox",
    "--clearenv",
  ];
}

/**
 * Returns the descriptors of this process, other than the standard ones, that every program it starts would
 * inherit. Node.js marks its own, but not those that it inherited itself or that a native addon opened.
 */
function leakingDescriptors(): readonly number[] {
  return readdirSync("/proc/self/fd")
    .map(Number)
    .filter((fd) => fd > 2 && isInherited(fd));
}

function isInherited(fd: number): boolean {
  try {
    const file = openSync(`/proc/self/fdinfo/${fd}`, "r");
    const bytes = readSync(file, info, 0, info.length, 0);
    closeSync(file);
    const [, flags = ""] = /^flags:\s*([0-7]+)$/m.exec(info.toString("latin1", 0, bytes)) ?? [];
    return (Number.parseInt(flags, 8) & CLOSED_ON_EXEC) === 0;
  } catch {
    // It was the directory itself, which is closed now.
    return false;
  }
}

/** A program in namespaces. It starts when the first process of its sandbox is known, unless it was killed before. */
class LaunchedInNamespaces implements Launched {
  readonly stdin: Writable | undefined;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly channel: Duplex | undefined;
  readonly pid: Promise<number | undefined>;
  readonly exited: Promise<number>;
  readonly closed: Promise<void>;
  readonly #sandbox: PreparedSandbox;
  #attempts: NetworkAttempts | undefined;
  #problem: string | undefined;
  #isKilled = false;
  /** `undefined` until it is known. */
  #first: { readonly process: FirstProcess | undefined } | undefined;

  constructor(sandbox: PreparedSandbox, launch: Launch<GrantedMounts>) {
    this.#sandbox = sandbox;
    this.stdin = sandbox.stdin;
    this.stdout = sandbox.stdout;
    this.stderr = sandbox.stderr;
    this.channel = sandbox.channel;
    this.pid = sandbox.first.then((first) => first?.pid);
    this.exited = sandbox.exited;
    this.closed = sandbox.closed;
    void this.#start(launch);
  }

  get startOutput(): string {
    return this.#sandbox.startOutput;
  }

  get problem(): string | undefined {
    return this.#problem;
  }

  get hasEnded(): boolean {
    return this.#first !== undefined && this.#first.process?.hasEnded !== false;
  }

  get hasTriedNetwork(): boolean | undefined {
    return this.#attempts?.found;
  }

  terminate(): void {
    this.#first?.process?.terminate();
  }

  kill(): void {
    this.#isKilled = true;
    void this.#sandbox.kill();
  }

  keepAlive(keeps: boolean): void {
    this.#sandbox.keepAlive(keeps);
  }

  discard(): void {
    void this.#sandbox.discard();
  }

  /** Never rejects. */
  async #start({
    program,
    files,
    limits,
    cgroup,
    listener,
    hasChannel = false,
    hasInput = false,
  }: Launch<GrantedMounts>): Promise<void> {
    const script = startScript(program, limits, files.workingDirectory, {
      hasNetwork: listener !== undefined,
      hasChannel,
      hasInput: hasInput || program.stdin !== "",
    });
    const first = await this.#sandbox.first;
    this.#first = { process: first };
    if (first === undefined || this.#isKilled) return;
    const attempts = new NetworkAttempts(first.pid);
    this.#attempts = attempts;
    void this.exited.then(() => attempts.end());
    try {
      await this.#sandbox.start(first, script, program.stdin, cgroup);
    } catch (error) {
      this.#problem = String(error);
      this.kill();
    }
  }
}

/** The maximum size of `/proc/PID/net/snmp`, which has two lines for each protocol. */
const MAX_COUNTER_BYTES = 16_384;

/** Whether the programs of a network namespace tried to reach what no interface of it leads to. */
class NetworkAttempts {
  #fd: number | undefined;
  #found = false;

  /** @param pid A process of the namespace, which has only a loopback interface. */
  constructor(pid: number) {
    try {
      // The namespace, with its counters, lasts as long as the file is open (proc_pid_net(5)).
      this.#fd = openSync(`/proc/${pid}/net/snmp`, "r");
    } catch {
      // The process has ended, or this kernel counts nothing.
    }
  }

  /** Reads the counters for the last time. */
  end(): void {
    if (this.#fd === undefined) return;
    try {
      const bytes = Buffer.alloc(MAX_COUNTER_BYTES);
      this.#found =
        packetsWithoutRoute(bytes.toString("latin1", 0, readSync(this.#fd, bytes, 0, MAX_COUNTER_BYTES, 0))) >
        0;
    } catch {
      // Then it is not known.
    }
    closeSync(this.#fd);
    this.#fd = undefined;
  }

  /** Whether there were attempts until {@link end}. */
  get found(): boolean {
    return this.#found;
  }
}

/** The counter of connections and packets for which there was no route: a line of names, then a line of their values. */
function packetsWithoutRoute(counters: string): number {
  const [names = "", values = ""] = counters.split("\n").filter((line) => line.startsWith("Ip: "));
  return Number(values.split(" ")[names.split(" ").indexOf("OutNoRoutes")] ?? 0);
}
