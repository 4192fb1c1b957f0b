import { performance } from "node:perf_hooks";
import type { ProcessImplementation } from "../../../tool/implementations/process-implementation.ts";
import type { GuestMemory } from "../../contract/guest-memory.ts";
import type { SandboxOutcome } from "../../contract/outcome.ts";
import type { SandboxTask } from "../../contract/sandbox.ts";
import type { GrantedFiles, Launcher } from "../launcher.ts";
import { KILL_GRACE_MS } from "../process-limits.ts";
import type { EarlyEndTimes, Program } from "../program.ts";
import { EarlyEnd, earlyEndText, endedEarly } from "../program-end.ts";
import { lostProgram, moveProtectedAside, outcomeOfProgram, type StopCause } from "../program-outcome.ts";
import { ProgramOutput } from "../program-output.ts";
import type { PersistentShell } from "./persistent-shell.ts";

const NEW_SHELL = "A new shell was started";
const SHELL_ENDED = "The shell ended; the next command starts a new one";

/** What a call of a command in a shell consists of. */
export interface ShellCallParts {
  readonly task: SandboxTask;
  readonly tool: ProcessImplementation;
  readonly program: Program;
  readonly launcher: Launcher;
  /** Opened for this call, so that what it changes is known. */
  readonly files: GrantedFiles;
  /** Where its output has to have room. */
  readonly memory: GuestMemory;
  readonly command: string;
  readonly shell: PersistentShell;
  /** Whether it is the shell's first command. */
  readonly isNew: boolean;
  /** What processes in the background made before it, where other programs would run it. */
  readonly madeBefore: readonly string[];
  /** Readings of `performance.now`. */
  readonly startedAt: number;
  readonly deadlineAt: number;
  /** Of the command: they end the shell. */
  readonly times: EarlyEndTimes;
}

/** One command of a persistent shell, from its start to its outcome. */
export class ShellCall {
  /** Settles when the command has ended, or the shell has. Never rejects. */
  readonly ended: Promise<SandboxOutcome>;
  readonly #parts: ShellCallParts;
  readonly #output: ProgramOutput;
  #cause: StopCause | undefined;
  #grace: NodeJS.Timeout | undefined;

  constructor(parts: ShellCallParts) {
    this.#parts = parts;
    this.#output = new ProgramOutput(parts.task, parts.tool, parts.memory.openForOutput(parts.task));
    this.ended = this.#run()
      .catch((error: unknown) => lostProgram(error, parts.startedAt))
      .finally(() => this.#output.close());
  }

  /**
   * Ends the shell, and waits until its processes have ended. They get SIGTERM and some time before they are killed.
   *
   * @param graceMs How long. Default: {@link KILL_GRACE_MS}, or the tool's.
   */
  async stop(
    cause: StopCause,
    graceMs: number = this.#parts.tool.killGraceMs ?? KILL_GRACE_MS,
  ): Promise<void> {
    const { shell } = this.#parts;
    this.#output.stopWaiting();
    const isFirst = this.#cause === undefined;
    this.#cause ??= cause;
    if (graceMs === 0) shell.kill();
    else if (isFirst) {
      shell.launched.terminate();
      this.#grace = setTimeout(() => shell.kill(), graceMs);
    }
    await this.ended;
  }

  async #run(): Promise<SandboxOutcome> {
    const { task, shell, command, deadlineAt, times } = this.#parts;
    const running = shell.run(command);
    this.#output.read(running.stdout.stream, running.stderr.stream, (cause) => {
      if (cause === "memory") void this.stop(cause, 0);
    });
    const cancel = (): void => void this.stop("cancelled");
    const deadline = setTimeout(() => void this.stop("timeout"), Math.max(deadlineAt - performance.now(), 1));
    task.signal?.addEventListener("abort", cancel, { once: true });
    if (task.signal?.aborted) cancel();
    const early = new EarlyEnd(times, shell.launched, this.#output, (cause) => void this.stop(cause));
    const code = await running.ended;
    early[Symbol.dispose]();
    clearTimeout(deadline);
    clearTimeout(this.#grace);
    task.signal?.removeEventListener("abort", cancel);
    const isOver = code === undefined || this.#cause !== undefined || shell.cgroup?.ranOutOfMemory === true;
    if (!isOver) return this.#outcome(code, false);
    shell.kill();
    const last = await shell.ended;
    // A command that had ended has its own code.
    return this.#outcome(last === undefined ? undefined : (code ?? last), true);
  }

  /** @param code The exit code; `undefined` if the shell could not be ended. */
  async #outcome(code: number | undefined, hasShellEnded: boolean): Promise<SandboxOutcome> {
    const { task, shell, files, isNew, madeBefore, times } = this.#parts;
    const { exposed } = shell;
    const cause = exposed === undefined ? this.#cause : "exposed";
    for (const text of madeBefore) task.observer.log("warn", text);
    this.#output.end();
    const moved = await moveProtectedAside(task, files);
    const notes = [
      ...(isNew ? [NEW_SHELL] : []),
      ...madeBefore,
      ...(endedEarly(cause) ? [earlyEndText(cause, times)] : []),
      ...moved,
      ...(hasShellEnded ? [SHELL_ENDED] : []),
    ];
    return outcomeOfProgram({
      ...this.#parts,
      launched: shell.launched,
      cgroup: shell.cgroup,
      output: this.#output,
      cause,
      exposed,
      code,
      notes,
    });
  }
}
