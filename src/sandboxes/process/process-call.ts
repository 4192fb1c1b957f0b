import { performance } from "node:perf_hooks";
import type { ResourceLimits } from "../../policy/grant/limits.ts";
import type { ProcessImplementation } from "../../tool/implementations/process-implementation.ts";
import type { GuestMemory } from "../contract/guest-memory.ts";
import type { SandboxOutcome } from "../contract/outcome.ts";
import type { SandboxTask } from "../contract/sandbox.ts";
import { type CallNetwork, withNetwork } from "./call-network.ts";
import type { Cgroup } from "./cgroups.ts";
import { type GrantedFiles, type Launched, type Launcher, STARTED } from "./launcher.ts";
import { KILL_GRACE_MS, PROCESS_DEFAULTS } from "./process-limits.ts";
import type { EarlyEndTimes, Program } from "./program.ts";
import { EarlyEnd, earlyEndText, endedEarly, ProgramEnd } from "./program-end.ts";
import {
  lostProgram,
  moveProtectedAside,
  networkNotes,
  outcomeOfProgram,
  type StopCause,
} from "./program-outcome.ts";
import { ProgramOutput } from "./program-output.ts";

/** What a call of a program consists of. */
export interface CallParts {
  readonly task: SandboxTask;
  readonly tool: ProcessImplementation;
  readonly program: Program;
  readonly launcher: Launcher;
  readonly files: GrantedFiles;
  /** Where its output has to have room. */
  readonly memory: GuestMemory;
  /** Enforces the limits on all processes together. Absent if there are none. */
  readonly cgroup?: Cgroup | undefined;
  /** Absent if the grant does not include the network. */
  readonly network?: CallNetwork | undefined;
  readonly times: EarlyEndTimes;
}

/** One call of a program, from its start to its outcome. */
export class ProcessCall {
  /** Settles when all processes of the call have ended, or could not be ended. Never rejects. */
  readonly ended: Promise<SandboxOutcome>;
  readonly #parts: CallParts;
  readonly #limits: ResourceLimits;
  readonly #launched: Launched;
  readonly #end: ProgramEnd;
  readonly #output: ProgramOutput;
  readonly #startedAt = performance.now();
  #grace: NodeJS.Timeout | undefined;
  #cause: StopCause | undefined;
  #exposed: string | undefined;
  #hasExited = false;

  constructor(parts: CallParts) {
    const { task, tool, launcher, files, memory, cgroup, network } = parts;
    this.#parts = parts;
    const program = withNetwork(parts.program, network);
    const listener = network?.listener;
    this.#launched = launcher.launch({ program, files, limits: task.limits, cgroup, listener });
    this.#end = new ProgramEnd(this.#launched);
    const { stdout, stderr } = this.#launched;
    this.#limits = task.limits;
    this.#output = new ProgramOutput(task, tool, memory.openForOutput(task));
    this.#output.read(stdout, stderr, (cause) => void this.stop(cause));
    files.onExposed((path) => {
      this.#exposed = path;
      void this.stop("exposed", 0);
    });
    this.ended = this.#run()
      .catch((error: unknown) => lostProgram(error, this.#startedAt))
      .finally(() => this.#output.close());
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
    // A program that has ended is late only if what it wrote still waits for room.
    if (this.#hasExited && !this.#output.isWaiting && cause !== "memory") return void (await this.ended);
    this.#output.stopWaiting();
    if (this.#cause === undefined) {
      this.#cause = cause;
      if (this.#hasExited) return void (await this.ended);
      if (cause === "outputBytes" || cause === "memory" || !this.#hasBegun || graceMs === 0) this.#end.kill();
      else {
        this.#launched.terminate();
        this.#grace = setTimeout(() => this.#end.kill(), graceMs);
      }
    } else if (graceMs === 0) this.#end.kill();
    await this.ended;
  }

  get #hasBegun(): boolean {
    return this.#launched.startOutput.startsWith(STARTED);
  }

  async #run(): Promise<SandboxOutcome> {
    const { task, files, launcher, network } = this.#parts;
    const cancel = (): void => void this.stop("cancelled");
    const deadline = setTimeout(
      () => void this.stop("timeout"),
      this.#limits.wallTimeMs ?? PROCESS_DEFAULTS.wallTimeMs,
    );
    task.signal?.addEventListener("abort", cancel, { once: true });
    if (task.signal?.aborted) cancel();
    const { times } = this.#parts;
    const early = new EarlyEnd(times, this.#launched, this.#output, (cause) => void this.stop(cause));
    await this.#end.exited;
    this.#hasExited = true;
    early[Symbol.dispose]();
    clearTimeout(this.#grace);
    const code = await this.#end.finish();
    clearTimeout(deadline);
    task.signal?.removeEventListener("abort", cancel);
    this.#output.end();
    const cause = this.#cause;
    const moved = await moveProtectedAside(task, files);
    const notes = [
      ...(endedEarly(cause) ? [earlyEndText(cause, times)] : []),
      ...moved,
      ...networkNotes(launcher.isolation, this.#launched, this.#output, network !== undefined),
    ];
    return outcomeOfProgram({
      ...this.#parts,
      launched: this.#launched,
      output: this.#output,
      startedAt: this.#startedAt,
      cause,
      exposed: this.#exposed,
      code,
      notes,
    });
  }
}
