import { readdirSync, readFileSync } from "node:fs";
import { performance } from "node:perf_hooks";
import { formatDuration } from "../../base/units.ts";
import type { Launched } from "./launcher.ts";
import type { ProgramOutput } from "./output/program-output.ts";
import { STARTED } from "./start-words.ts";

/** How often it is looked, in the time after which a program counts as idle. */
const LOOKS = 4;

/** The most files that are read in one look. A program with more threads counts as active. */
const MAX_READS = 2_000;

/** What an idle program is ended for, as the model reads it. */
export function idleText(idleMs: number): string {
  return (
    `The program was ended: for ${formatDuration(idleMs)} it wrote nothing and used no CPU time, as if it waited for input, ` +
    "which it cannot get. Run it without questions or an editor, or give it a longer idle time"
  );
}

/**
 * Finds out when a program has neither written anything nor used CPU time for a while: when its output, its processes and
 * the CPU time of each are the same as before. The kernel counts CPU time in steps of 10 ms.
 */
export class IdleWatch implements Disposable {
  readonly #idleMs: number;
  readonly #launched: Launched;
  readonly #output: ProgramOutput;
  readonly #timer: NodeJS.Timeout;
  #pid: number | undefined;
  #seen: string | undefined;
  #activeAt = performance.now();

  /**
   * @param idleMs How long. `Infinity`: the program is not watched.
   * @param onIdle Called once, somewhat later.
   */
  constructor(idleMs: number, launched: Launched, output: ProgramOutput, onIdle: () => void) {
    this.#idleMs = idleMs;
    this.#launched = launched;
    this.#output = output;
    this.#timer = setInterval(() => this.#look(onIdle), Math.max(1, idleMs / LOOKS));
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
    this[Symbol.dispose]();
    onIdle();
  }

  /** Changes with everything that a program does; `undefined` if that is not known, it has not begun, or waits for this process. */
  #state(): string | undefined {
    const hasBegun = this.#launched.said.startsWith(STARTED);
    if (this.#pid === undefined || !hasBegun || this.#output.isWaiting) return undefined;
    const times = processTimes(this.#pid);
    return times === undefined ? undefined : `${this.#output.bytesRead} ${times}`;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}

/**
 * Returns the numbers and the CPU times of all processes below another one; `undefined` if they are not known. What the
 * process that waits for the program does itself does not count.
 */
function processTimes(root: number): string | undefined {
  const times: string[] = [];
  let reads = 0;
  try {
    for (const pids = [root]; pids.length > 0; ) {
      const pid = pids.pop() as number;
      const ticks = pid === root ? undefined : cpuTime(pid);
      if (ticks !== undefined) times.push(`${pid}:${ticks}`);
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

/** The CPU time of a process and of its children that it has waited for, in clock ticks (proc_pid_stat(5)); `undefined` if it has ended. */
function cpuTime(pid: number): number | undefined {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  // The name, in parentheses, can contain any character.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  if (fields[0] === "Z") return undefined;
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0);
}
