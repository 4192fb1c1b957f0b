import { readFileSync } from "node:fs";

/**
 * The first process of a sandbox's pid namespace, by its number on this machine. The kernel kills all processes of the
 * namespace before it lets go of this one.
 */
export class FirstProcess {
  readonly pid: number;
  readonly #startedAt: string | undefined;

  /** @param pid Of a process that waits, so that the number cannot belong to another one yet. */
  constructor(pid: number) {
    this.pid = pid;
    this.#startedAt = startOf(pid);
  }

  /** Whether it has ended, with all processes of its namespace. */
  get hasEnded(): boolean {
    return this.#startedAt === undefined || startOf(this.pid) !== this.#startedAt;
  }

  /** Whether it has its seccomp filter: bubblewrap sets it when the process has asked for its end with bubblewrap's. */
  get isConfined(): boolean {
    return filtersOf(`${this.pid}`) > filtersOf("self");
  }

  /** Kills all processes of the namespace. */
  kill(): void {
    this.#signal(this.pid, "SIGKILL");
  }

  /** Asks the program's process group to end. The first process is in the group, and ignores it. */
  terminate(): void {
    this.#signal(-this.pid, "SIGTERM");
  }

  #signal(to: number, signal: NodeJS.Signals): void {
    // The number could belong to another process by now.
    if (this.hasEnded) return;
    try {
      process.kill(to, signal);
    } catch {
      // It has ended meanwhile.
    }
  }
}

/** When a process started, in clock ticks since the machine did; `undefined` if there is none, or only its exit code. */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The name, in parentheses, can contain any character (proc_pid_stat(5)).
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" || fields[0] === "X" ? undefined : fields[19];
  } catch {
    return undefined;
  }
}

/** How many seccomp filters a process has. Linux before 5.9 does not tell. */
function filtersOf(pid: string): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "latin1");
    const count = /^Seccomp_filters:\t(\d+)$/m.exec(status)?.[1];
    if (count !== undefined) return Number(count);
    return pid !== "self" && /^Seccomp:\t2$/m.test(status) ? 1 : 0;
  } catch {
    return 0;
  }
}
