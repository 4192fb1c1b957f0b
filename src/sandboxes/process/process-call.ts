import { performance } from "node:perf_hooks";
import { setTimeout as wait } from "node:timers/promises";
import { race } from "../../base/timers/race.ts";
import type { LimitName } from "../../policy/grant/limits.ts";
import type { ProcessImplementation } from "../../tool/implementations/process-implementation.ts";
import type { Isolation } from "../../tool/isolation.ts";
import { shorten } from "../contract/failure-text.ts";
import type { ResourceUse, SandboxOutcome } from "../contract/outcome.ts";
import { type CheckedOutput, checkOutput, checkReturned } from "../contract/output.ts";
import { outputProblem } from "../contract/output-bounds.ts";
import { outcomeOf } from "../contract/output-outcome.ts";
import type { SandboxTask } from "../contract/task.ts";
import type { Cgroup } from "./cgroups/cgroups.ts";
import { CollectedOutput, LineReader } from "./collected-output.ts";
import type { GrantedFiles, Launched, Launcher } from "./launcher.ts";
import { PROCESS_DEFAULTS } from "./process-limits.ts";

/** Milliseconds after which a call ends although its processes, which were killed, have not. */
const END_GRACE_MS = 2_000;

/** The most bytes of a failure's message: the end of what the program wrote to its standard error. */
const MAX_MESSAGE_BYTES = 2_000;

/** How many new protected places are reported. */
const MAX_REPORTED_PLACES = 20;

/** The exit code for a program that was ended for its CPU time: 128 + SIGXCPU. */
const CPU_TIME_EXCEEDED = 152;

/** Milliseconds that a program gets to end by itself after SIGTERM, before it is killed. */
const KILL_GRACE_MS = 5_000;

/** Milliseconds between two looks whether processes that were killed have ended. */
const POLL_MS = 5;

type StopCause = "timeout" | "cancelled" | "outputBytes";

/** One call of a program, from its launch to its outcome. */
export class ProcessCall {
  /** Settles when all processes of the call have ended, or could not be ended. Never rejects. */
  readonly ended: Promise<SandboxOutcome>;
  readonly #task: SandboxTask;
  readonly #program: ProcessImplementation;
  readonly #launched: Launched;
  readonly #output: CollectedOutput;
  readonly #isolation: Isolation;
  readonly #files: GrantedFiles;
  readonly #cgroup: Cgroup | undefined;
  readonly #startedAt = performance.now();
  #hasBegun = false;
  #logLines = 0;
  #lastLines = "";
  #grace: NodeJS.Timeout | undefined;
  #cause: StopCause | undefined;
  readonly #killed = Promise.withResolvers<void>();

  constructor(
    task: SandboxTask,
    program: ProcessImplementation,
    launcher: Launcher,
    files: GrantedFiles,
    cgroup: Cgroup | undefined,
  ) {
    this.#task = task;
    this.#program = program;
    this.#isolation = launcher.isolation;
    this.#files = files;
    this.#cgroup = cgroup;
    this.#output = new CollectedOutput(task.limits.outputBytes ?? PROCESS_DEFAULTS.outputBytes);
    const { limits, capabilities } = task;
    const env = environment(capabilities.env);
    this.#launched = launcher.launch({ program, files, env, limits, cgroup });
    this.#listen();
    this.ended = this.#run();
  }

  /**
   * Ends the call, and waits until its processes have ended. The program gets SIGTERM and some time before it is killed,
   * unless it has exceeded a limit.
   *
   * @param graceMs How long. Default: {@link KILL_GRACE_MS}, or the tool's.
   */
  async stop(cause: StopCause, graceMs: number = this.#program.killGraceMs ?? KILL_GRACE_MS): Promise<void> {
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

  #listen(): void {
    const { stdin, stdout, stderr, started } = this.#launched;
    stdin.end(this.#program.input === "none" ? "" : this.#task.canonical.text);
    started.once("data", () => {
      this.#hasBegun = true;
    });
    stdout.on("data", (chunk: Buffer) => {
      if (!this.#output.add(chunk)) void this.stop("outputBytes");
    });
    const lines = new LineReader((line) => this.#log(line));
    stderr.on("data", (chunk: Buffer) => lines.add(chunk));
    stderr.on("end", () => lines.end());
    for (const stream of [stdout, stderr, started]) stream.on("error", () => {});
  }

  async #run(): Promise<SandboxOutcome> {
    const { child } = this.#launched;
    const exited = new Promise<number>((resolve) => {
      child.on("exit", (code) => resolve(code ?? -1));
      child.on("error", () => resolve(-1));
    });
    const closed = new Promise<void>((resolve) => {
      child.on("close", resolve);
      child.on("error", () => resolve());
    });
    const { signal, limits } = this.#task;
    const cancel = (): void => void this.stop("cancelled");
    const deadline = setTimeout(
      () => void this.stop("timeout"),
      limits.wallTimeMs ?? PROCESS_DEFAULTS.wallTimeMs,
    );
    signal?.addEventListener("abort", cancel, { once: true });
    if (signal?.aborted) cancel();
    const late = this.#killed.promise.then(() => race(exited, { timeoutMs: END_GRACE_MS }));
    const code = await Promise.race([exited, late]);
    clearTimeout(deadline);
    clearTimeout(this.#grace);
    signal?.removeEventListener("abort", cancel);
    const hasEnded = typeof code === "number" && (await this.#endAll());
    // What the program wrote before its end is in the pipes, which no process of the sandbox holds then.
    if (hasEnded) await closed;
    else for (const stream of child.stdio) stream?.destroy();
    this.#reportProtectedPlaces();
    return this.#outcome(hasEnded ? code : undefined);
  }

  /** What was not there could not be covered. Other programs will read it: operators should know. */
  #reportProtectedPlaces(): void {
    for (const path of this.#files.changedProtectedPlaces().slice(0, MAX_REPORTED_PLACES))
      this.#task.observer.log(
        "warn",
        `The program ${this.#isolation === "namespaces" ? "made" : "made or changed"} '${path}', which other programs run or are configured by`,
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

  #log(line: string): void {
    this.#lastLines = `${this.#lastLines}${line}\n`.slice(-MAX_MESSAGE_BYTES);
    if (this.#logLines >= (this.#task.limits.logLines ?? PROCESS_DEFAULTS.logLines)) return;
    this.#logLines++;
    if (this.#task.observer.listening !== false) this.#task.observer.log("info", line);
  }

  /** @param code The exit code; `undefined` if the processes have not ended. */
  #outcome(code: number | undefined): SandboxOutcome {
    const memoryBytes = this.#cgroup?.peakBytes;
    const used: ResourceUse = {
      wallTimeMs: performance.now() - this.#startedAt,
      outputBytes: this.#output.bytes,
      logLines: this.#logLines,
      ...(memoryBytes !== undefined && { memoryBytes }),
    };
    const effect = this.#hasBegun && this.#files.isWritable ? "unknown" : "none";
    const isolation = this.#isolation;
    const alive = code === undefined ? ({ mayStillRun: true, ended: "told" } as const) : {};
    const base = { effect, used, isolation, ...alive } as const;
    if (this.#cause === "outputBytes") return { status: "limit_exceeded", limit: "outputBytes", ...base };
    if (this.#cause !== undefined) return { status: this.#cause, ...base };
    if (this.#cgroup?.ranOutOfMemory) return { status: "limit_exceeded", limit: "memoryBytes", ...base };
    if (!this.#hasBegun) return { status: "unavailable", ...base, detail: this.#lastLines.trim() };
    if (code === CPU_TIME_EXCEEDED && this.#task.limits.cpuMs !== undefined)
      return { status: "limit_exceeded", limit: "cpuMs" satisfies LimitName, ...base };
    if (code !== 0) return { status: "failed", message: this.#failure(code), ...base };
    return { ...outcomeOf(this.#checkOutput(), effect, used), isolation };
  }

  #failure(code: number | undefined): string {
    const said = this.#lastLines.trim();
    return said === "" ? `The program exited with code ${code}` : shorten(said, MAX_MESSAGE_BYTES);
  }

  #checkOutput(): CheckedOutput {
    const text = this.#output.toString();
    const { outputBytes } = this.#task.limits;
    if (this.#program.output === "text") return checkReturned(text, outputBytes, 0);
    const problem = outputProblem(text);
    if (problem !== undefined) return { status: "failed", message: problem, outputBytes: this.#output.bytes };
    return checkOutput(text, outputBytes);
  }
}

/** The granted variables that are set. */
function environment(names: readonly string[] = []): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}
