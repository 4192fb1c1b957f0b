import { performance } from "node:perf_hooks";
import { setTimeout as wait } from "node:timers/promises";
import { race } from "../../base/timers/race.ts";
import type { ResourceLimits } from "../../policy/grant/limits.ts";
import { FileFailure, shownPath, WorkspaceEscapeError } from "../../tool/file-failure.ts";
import type { ProcessImplementation } from "../../tool/implementations/process-implementation.ts";
import type { ResourceUse, SandboxOutcome } from "../contract/outcome.ts";
import type { CheckedOutput } from "../contract/output.ts";
import { outcomeOf } from "../contract/output-outcome.ts";
import type { SandboxTask } from "../contract/task.ts";
import type { Cgroup } from "./cgroups/cgroups.ts";
import { failedStart } from "./failed-start.ts";
import type { GrantedFiles, Launched, Launcher } from "./launcher.ts";
import { type CallNetwork, PROXY_VARIABLES } from "./network/call-network.ts";
import { ProgramOutput } from "./output/program-output.ts";
import { PROCESS_DEFAULTS } from "./process-limits.ts";
import type { Program } from "./program.ts";
import { NO_DIRECTORY, OUTSIDE, STARTED } from "./start-words.ts";

/** Milliseconds after which a call ends although its processes, which were killed, have not. */
const END_GRACE_MS = 2_000;

/** How many new protected places are reported. */
const MAX_REPORTED_PLACES = 20;

/** The exit code for a program that was ended for its CPU time: 128 + SIGXCPU. */
const CPU_TIME_EXCEEDED = 152;

/** Milliseconds that a program gets to end by itself after SIGTERM, before it is killed. */
const KILL_GRACE_MS = 5_000;

/** Milliseconds between two looks whether processes that were killed have ended. */
const POLL_MS = 5;

/** The message of a program that ended by itself, while others that it had started could not be ended in time. */
const NOT_ALL_ENDED = "The program ended, but not all processes that it started could be ended yet";

type StopCause = "timeout" | "cancelled" | "outputBytes";

/** What a call of a program consists of. */
export interface CallParts {
  readonly task: SandboxTask;
  readonly tool: ProcessImplementation;
  readonly program: Program;
  readonly launcher: Launcher;
  readonly files: GrantedFiles;
  /** Holds the limits on all processes together. Absent if there are none. */
  readonly cgroup?: Cgroup | undefined;
  /** Absent if the grant gives none. */
  readonly network?: CallNetwork | undefined;
}

/** One call of a program, from its start to its outcome. */
export class ProcessCall {
  /** Settles when all processes of the call have ended, or could not be ended. Never rejects. */
  readonly ended: Promise<SandboxOutcome>;
  readonly #parts: CallParts;
  readonly #limits: ResourceLimits;
  readonly #launched: Launched;
  readonly #output: ProgramOutput;
  readonly #startedAt = performance.now();
  #grace: NodeJS.Timeout | undefined;
  #cause: StopCause | undefined;
  readonly #killed = Promise.withResolvers<void>();

  constructor(parts: CallParts) {
    const { task, tool, launcher, files, cgroup, network } = parts;
    this.#parts = parts;
    const program = network === undefined ? parts.program : withProxy(parts.program);
    const listener = network?.listener;
    this.#launched = launcher.launch({ program, files, limits: task.limits, cgroup, listener });
    const { stdin, stdout, stderr } = this.#launched;
    stdin.end(program.stdin);
    this.#limits = task.limits;
    this.#output = new ProgramOutput(task, tool);
    this.#output.read(stdout, stderr, () => void this.stop("outputBytes"));
    this.ended = this.#run();
  }

  /**
   * Ends the call, and waits until its processes have ended. The program gets SIGTERM and some time before it is killed,
   * unless it has exceeded a limit.
   *
   * @param graceMs How long. Default: {@link KILL_GRACE_MS}, or the tool's.
   */
  async stop(
    cause: StopCause,
    graceMs: number = this.#parts.tool.killGraceMs ?? KILL_GRACE_MS,
  ): Promise<void> {
    if (this.#cause === undefined) {
      this.#cause = cause;
      if (cause === "outputBytes" || !this.#hasBegun || graceMs === 0) this.#kill();
      else {
        this.#launched.terminate();
        this.#grace = setTimeout(() => this.#kill(), graceMs);
      }
    } else if (graceMs === 0) this.#kill();
    await this.ended;
  }

  get #hasBegun(): boolean {
    return this.#launched.said.startsWith(STARTED);
  }

  async #run(): Promise<SandboxOutcome> {
    const { task } = this.#parts;
    const { exited } = this.#launched;
    const cancel = (): void => void this.stop("cancelled");
    const deadline = setTimeout(
      () => void this.stop("timeout"),
      this.#limits.wallTimeMs ?? PROCESS_DEFAULTS.wallTimeMs,
    );
    task.signal?.addEventListener("abort", cancel, { once: true });
    if (task.signal?.aborted) cancel();
    const late = this.#killed.promise.then(() => race(exited, { timeoutMs: END_GRACE_MS }));
    const code = await Promise.race([exited, late]);
    clearTimeout(deadline);
    clearTimeout(this.#grace);
    task.signal?.removeEventListener("abort", cancel);
    const hasEnded = typeof code === "number" && (await this.#endAll());
    // What the program wrote before its end is in the pipes, which no process of the sandbox holds then.
    if (hasEnded) await this.#launched.closed;
    else this.#launched.discard();
    this.#output.end();
    this.#reportProtectedPlaces();
    return this.#outcome(hasEnded ? code : undefined);
  }

  /** What was not there could not be covered. Other programs will read it: operators should know. */
  #reportProtectedPlaces(): void {
    const { files, task, launcher } = this.#parts;
    const made = launcher.isolation === "namespaces" ? "made" : "made or changed";
    for (const path of files.changedProtectedPlaces().slice(0, MAX_REPORTED_PLACES))
      task.observer.log(
        "warn",
        `The program ${made} '${path}', which other programs run or are configured by`,
      );
  }

  /**
   * Kills what the program left behind: the process that waits for it can exit before that.
   *
   * @returns Whether all have ended.
   */
  async #endAll(): Promise<boolean> {
    for (const until = performance.now() + END_GRACE_MS; performance.now() < until; await wait(POLL_MS)) {
      if (this.#launched.hasEnded) return true;
      this.#launched.kill();
    }
    return false;
  }

  #kill(): void {
    this.#launched.kill();
    this.#killed.resolve();
  }

  /** @param code The exit code; `undefined` if the processes have not ended. */
  #outcome(code: number | undefined): SandboxOutcome {
    const { files, cgroup, network, program } = this.#parts;
    const { isolation } = this.#parts.launcher;
    const memoryBytes = cgroup?.peakBytes;
    const traffic = network?.traffic;
    const used: ResourceUse = {
      wallTimeMs: performance.now() - this.#startedAt,
      ...this.#output.used,
      ...(memoryBytes !== undefined && { memoryBytes }),
      ...traffic,
    };
    // What a program sends through a tunnel is not known.
    const mayChange = files.isWritable || traffic !== undefined;
    const effect = this.#hasBegun && mayChange ? "unknown" : "none";
    const alive = code === undefined ? ({ mayStillRun: true, ended: "told" } as const) : {};
    const base = { effect, used, isolation, ...alive } as const;
    if (this.#cause === "outputBytes") return { status: "limit_exceeded", limit: "outputBytes", ...base };
    if (this.#cause !== undefined) return { status: this.#cause, ...base };
    if (cgroup?.ranOutOfMemory) return { status: "limit_exceeded", limit: "memoryBytes", ...base };
    const refusal = directoryProblem(this.#launched.said, program.cwd);
    if (refusal !== undefined) return { ...failedStart(refusal), used, isolation };
    if (!this.#hasBegun)
      return { status: "unavailable", ...base, detail: this.#launched.problem ?? this.#output.lastLines };
    if (code === CPU_TIME_EXCEEDED && this.#limits.cpuMs !== undefined)
      return { status: "limit_exceeded", limit: "cpuMs", ...base };
    if (code === undefined) return { status: "failed", message: NOT_ALL_ENDED, ...base };
    let checked: CheckedOutput;
    try {
      checked = this.#output.check(code);
    } catch (error) {
      return { ...failedStart(error), effect, used, isolation };
    }
    return checked.status === "failed" && code !== 0
      ? { status: "failed", message: checked.message, ...base }
      : { ...outcomeOf(checked, effect, used), isolation };
  }
}

/** The program with the variables by which it finds the proxy, which is its only way to the network. */
function withProxy(program: Program): Program {
  return { ...program, env: { ...program.env, ...PROXY_VARIABLES } };
}

/** Why a program did not begin in its directory, by what the start script wrote; `undefined` if it did. */
function directoryProblem(said: string, cwd = ""): Error | undefined {
  if (said.startsWith(OUTSIDE)) return new WorkspaceEscapeError(cwd);
  if (!said.startsWith(NO_DIRECTORY)) return undefined;
  return new FileFailure("no-entry", `There is no directory '${shownPath(cwd)}'`);
}
