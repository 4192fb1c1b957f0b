import { type ChildProcess, spawn } from "node:child_process";
import { isBuiltin } from "node:module";
import type { Duplex, Readable, Writable } from "node:stream";
import { entryFile } from "../../../base/package-files.ts";
import { NODE_OPTIONS } from "../landlock/launch-plan.ts";
import { KILL_GRACE_MS } from "../process-limits.ts";
import { closeOf, exitOf } from "../program-pipes.ts";
import type { GuardedProgram, GuardReport } from "./child/guard.ts";
import type { LongRunningEnd, LongRunningProgram } from "./running-program.ts";

/** A program that is started without confinement: it can do everything that this process can. */
export interface UnconfinedProgramOptions {
  readonly command: string;
  /** Default: none. */
  readonly args?: readonly string[];
  /** All its variables. */
  readonly env: Readonly<Record<string, string>>;
  /** An absolute path. */
  readonly cwd: string;
  /** Whether it gets a socket as its descriptor 3. Default: false. */
  readonly channel?: boolean;
}

/** Maximum number of characters of what the guarding process reports. */
const MAX_REPORT_LENGTH = 4_096;

/**
 * Starts a long-running program without confinement, in its own session. A guardian process waits for it, and
 * kills all of its processes when the program ends, on request, or when this process has ended. With
 * `node:ffi`, descendants that leave their parents are found, too.
 */
export function startUnconfinedProgram(options: UnconfinedProgramOptions): LongRunningProgram {
  return new UnconfinedProgram(options);
}

class UnconfinedProgram implements LongRunningProgram {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly channel?: Duplex;
  readonly pid: Promise<number | undefined>;
  readonly exited: Promise<void>;
  readonly ended: Promise<LongRunningEnd>;
  readonly #control: Duplex;
  #report: GuardReport | undefined;
  #grace: NodeJS.Timeout | undefined;

  constructor({ command, args = [], env, cwd, channel = false }: UnconfinedProgramOptions) {
    const [options, name] = isBuiltin("node:ffi")
      ? ([NODE_OPTIONS, "guardian"] as const)
      : ([["--no-warnings"], "plain-guardian"] as const);
    const guardian = spawn(
      process.execPath,
      [...options, entryFile(`sandboxes/process/long-running/child/${name}`)],
      {
        // No variables, such as NODE_OPTIONS, change it. In a session of its own, it outlives a signal to this process's group.
        env: {},
        cwd: "/",
        detached: true,
        stdio: ["pipe", "pipe", "pipe", "pipe", channel ? "pipe" : "ignore"],
      },
    );
    const streams = guardian.stdio as unknown as readonly [Writable, Readable, Readable, Duplex, Duplex?];
    [this.stdin, this.stdout, this.stderr, this.#control] = streams;
    if (channel) this.channel = streams[4] as Duplex;
    for (const stream of guardian.stdio) stream?.on("error", () => {});
    this.pid = this.#readReport(guardian);
    this.exited = exitOf(guardian).then(() => {});
    this.ended = this.#finish(guardian);
    const program: GuardedProgram = { command, args, env, cwd, hasChannel: channel };
    this.#control.write(`${JSON.stringify(program)}\n`);
  }

  async stop(graceMs: number = KILL_GRACE_MS): Promise<LongRunningEnd> {
    if (graceMs === 0) this.#control.write("k");
    else if (this.#grace === undefined) {
      this.#control.write("t");
      this.#grace = setTimeout(() => this.#control.write("k"), graceMs);
      void this.ended.then(() => clearTimeout(this.#grace));
    }
    return this.ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop(0);
  }

  #readReport(guardian: ChildProcess): Promise<number | undefined> {
    return new Promise((resolve) => {
      let text = "";
      this.#control.on("data", (chunk: Buffer) => {
        text = `${text}${chunk.toString("utf8")}`.slice(0, MAX_REPORT_LENGTH);
        const end = text.indexOf("\n");
        if (end === -1 || this.#report !== undefined) return;
        this.#report = JSON.parse(text.slice(0, end)) as GuardReport;
        resolve("pid" in this.#report ? this.#report.pid : undefined);
      });
      void exitOf(guardian).then(() => resolve(undefined));
    });
  }

  async #finish(guardian: ChildProcess): Promise<LongRunningEnd> {
    const closed = closeOf(guardian);
    const code = await exitOf(guardian);
    const report = this.#report;
    const pid = report !== undefined && "pid" in report ? report.pid : undefined;
    // The guarding process was killed itself. At least the process group can be ended.
    if (code === -1 && pid !== undefined) killGroup(pid);
    await closed;
    if (pid !== undefined)
      return { code: code === -1 ? undefined : code, hasBegun: true, ended: "requested" };
    const problem = report !== undefined && "problem" in report ? report.problem : "it could not be started";
    return { code, hasBegun: false, problem, ended: "confirmed" };
  }
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}
