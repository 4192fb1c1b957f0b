import { readdirSync, readFileSync } from "node:fs";
import { performance } from "node:perf_hooks";
import { setTimeout as wait } from "node:timers/promises";
import { race } from "../../base/timers.ts";
import { formatDuration } from "../../base/units.ts";
import { type Launched, STARTED } from "./launcher.ts";
import type { EarlyEndTimes } from "./program.ts";
import type { ProgramOutput } from "./program-output.ts";

/** Milliseconds after which a program counts as not ended although its processes were killed. */
const END_GRACE_MS = 2_000;

/** Milliseconds between two checks whether killed processes have ended. */
const POLL_MS = 5;

/** Ends a launched program, and finds out whether it has ended. */
export class ProgramEnd {
  /**
   * Resolves to the exit code when the process that waits for the program has exited; to `undefined` if it has not some time
   * after {@link kill}.
   */
  readonly exited: Promise<number | undefined>;
  readonly #launched: Launched;
  readonly #killed = Promise.withResolvers<void>();

  constructor(launched: Launched) {
    this.#launched = launched;
    const { exited } = launched;
    const late = this.#killed.promise.then(() => race(exited, { timeoutMs: END_GRACE_MS }));
    this.exited = Promise.race([exited, late]).then((code) => (typeof code === "number" ? code : undefined));
  }

  /** Kills all processes of the program. Can be repeated. */
  kill(): void {
    this.#launched.kill();
    this.#killed.resolve();
  }

  /**
   * Waits until all processes have ended and everything that they wrote has been read, after {@link exited}.
   *
   * @returns The exit code; `undefined` if processes remain. Then all streams to them are closed.
   */
  async finish(): Promise<number | undefined> {
    const code = await this.exited;
    const hasEnded = code !== undefined && (await this.#endAll());
    // What the program wrote before its end is in the pipes, which no process of the sandbox has open by
    // then.
    if (hasEnded) await this.#launched.closed;
    else this.#launched.discard();
    return hasEnded ? code : undefined;
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
}

/** Number of checks in the time after which a program counts as idle. */
const LOOKS = 4;

/** Maximum number of files that are read in one check. A program with more threads counts as active. */
const MAX_READS = 2_000;

/** Why a program was ended early. */
export type EarlyEndCause = "idle" | "late";

/**
 * Ends a program that takes too long, or that is idle. It finds out when a program has neither written
 * anything nor used CPU time for a while: when its output, its processes and the CPU time of each are the
 * same as before, and no process waits for a processor or a disk. The kernel counts CPU time in steps of 10
 * ms.
 */
export class EarlyEnd implements Disposable {
  readonly #idleMs: number;
  readonly #timeout: NodeJS.Timeout | undefined;
  readonly #launched: Launched;
  readonly #output: ProgramOutput;
  readonly #timer: NodeJS.Timeout;
  #pid: number | undefined;
  #seen: string | undefined;
  #activeAt = performance.now();

  /** @param end Called once; if the program is idle, somewhat later. */
  constructor(
    { idleMs, timeoutMs }: EarlyEndTimes,
    launched: Launched,
    output: ProgramOutput,
    end: (cause: EarlyEndCause) => void,
  ) {
    const endOnce = (cause: EarlyEndCause): void => {
      this[Symbol.dispose]();
      end(cause);
    };
    if (timeoutMs !== undefined) this.#timeout = setTimeout(() => endOnce("late"), timeoutMs).unref();
    this.#idleMs = idleMs;
    this.#launched = launched;
    this.#output = output;
    this.#timer = setInterval(() => this.#look(() => endOnce("idle")), Math.max(1, idleMs / LOOKS));
    this.#timer.unref();
    if (idleMs === Number.POSITIVE_INFINITY) clearInterval(this.#timer);
    else void this.#launched.pid.then((pid) => (this.#pid = pid));
  }

  #look(onIdle: () => void): void {
    const now = performance.now();
    const seen = this.#state();
    if (seen === undefined || seen !== this.#seen) this.#activeAt = now;
    this.#seen = seen;
    if (now - this.#activeAt < this.#idleMs) return;
    onIdle();
  }

  /** Changes with everything that a program does; `undefined` if that is not known, it has not begun, or waits for this process. */
  #state(): string | undefined {
    const hasBegun = this.#launched.startOutput.startsWith(STARTED);
    if (this.#pid === undefined || !hasBegun || this.#output.isWaiting) return undefined;
    const times = processTimes(this.#pid);
    return times === undefined ? undefined : `${this.#output.bytesRead} ${times}`;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    clearTimeout(this.#timeout);
  }
}

/** States of processes that wait for a processor (R) or a disk (D): see proc_pid_stat(5). */
const ACTIVE: ReadonlySet<string> = new Set(["R", "D"]);

/** Whether a program was ended early. */
export function endedEarly(cause: string | undefined): cause is EarlyEndCause {
  return cause === "idle" || cause === "late";
}

/** The reason for the end of a program, for the model. */
export function earlyEndText(cause: EarlyEndCause, { idleMs, timeoutMs = 0 }: EarlyEndTimes): string {
  if (cause === "late")
    return (
      `The program was ended after its timeout of ${formatDuration(timeoutMs)}: give it a longer one, have it do less, or run it ` +
      "in the background if it is to stay"
    );
  return (
    `The program was ended: for ${formatDuration(idleMs)} it wrote nothing and used no CPU time, as if it waited for input, ` +
    "which it cannot get. Run it without questions or an editor, or give it a longer idle time"
  );
}

/**
 * Returns the numbers and the CPU times of all processes below another one; `undefined` if they are not known, or one is active
 * now: on a busy machine it may use no CPU time for long. What the process that waits for the program does itself does not
 * count.
 */
function processTimes(root: number): string | undefined {
  const times: string[] = [];
  let reads = 0;
  try {
    for (const pids = [root]; pids.length > 0; ) {
      const pid = pids.pop() as number;
      const { state, ticks } = statOf(pid);
      if (pid !== root && ACTIVE.has(state)) return undefined;
      // One that has ended uses nothing.
      if (pid !== root && state !== "Z") times.push(`${pid}:${ticks}`);
      for (const thread of readdirSync(`/proc/${pid}/task`)) {
        if (++reads > MAX_READS) return undefined;
        const children = readFileSync(`/proc/${pid}/task/${thread}/children`, "latin1");
        pids.push(...children.split(" ").filter(Boolean).map(Number));
      }
    }
  } catch {
    // A process has ended meanwhile, or the kernel does not list children (proc_tid_children(5)).
    return undefined;
  }
  // The program has ended, and its end is being looked at.
  return times.length === 0 ? undefined : times.join(" ");
}

/** Returns the state of a process, and its CPU time with that of its children that it has waited for, in clock ticks. */
function statOf(pid: number): { readonly state: string; readonly ticks: number } {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  // The name, in parentheses, can contain any character.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const ticks = fields.slice(11, 15).reduce((sum, each) => sum + Number(each), 0);
  return { state: fields[0] ?? "", ticks };
}
