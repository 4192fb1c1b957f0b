import { closeSync, readdirSync, readFileSync } from "node:fs";
import { systemCall } from "./c-library.ts";

const SIGKILL = 9;

/** How often the children are read after all processes have been read. */
const ROUNDS = 200;

/**
 * Sends SIGKILL to all processes below this one, which must be a subreaper and reap nothing meanwhile.
 * Processes that start meanwhile are left for the next call.
 */
export function killDescendants(): void {
  const all = new Map<number, Found>();
  for (const name of readdirSync("/proc")) {
    const found = /^\d+$/.test(name) ? readProcess(Number(name)) : undefined;
    if (found !== undefined) all.set(found.pid, found);
  }
  for (const found of all.values()) if (isDescendant(found, all)) kill(found);
  killChildren();
}

/**
 * Kills the children of this process, many times in a row. Of processes that fork and exit at once, each has ended before all
 * processes are read, but the next one has become a child of this process, and is found here within microseconds.
 */
function killChildren(): void {
  for (let round = 0; round < ROUNDS; round++) {
    for (const pid of children()) {
      try {
        // It is not reaped yet, so that its id is not reused.
        process.kill(pid, SIGKILL);
      } catch {
        // It has changed its user.
      }
    }
  }
}

/** The ids of the children of this thread, including ended ones (proc_tid_children(5)). */
function children(): readonly number[] {
  try {
    const text = readFileSync(`/proc/self/task/${process.pid}/children`, "latin1");
    return text.split(" ").filter(Boolean).map(Number);
  } catch {
    // This kernel does not have the file.
    return [];
  }
}

interface Found {
  readonly pid: number;
  readonly parent: number;
  /** When it started, in clock ticks since the machine did. */
  readonly startedAt: string | undefined;
}

function readProcess(pid: number): Found | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The name, in parentheses, can contain any character (proc_pid_stat(5)).
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return { pid, parent: Number(fields[1]), startedAt: fields[19] };
  } catch {
    // It has ended meanwhile.
    return undefined;
  }
}

function isDescendant({ parent }: Found, all: ReadonlyMap<number, Found>): boolean {
  for (let at: number | undefined = parent, steps = 0; at !== undefined && steps <= all.size; steps++) {
    if (at === process.pid) return true;
    at = all.get(at)?.parent;
  }
  return false;
}

/** The id may have been reused by now, unlike the descriptor. */
function kill({ pid, startedAt }: Found): void {
  const fd = systemCall("pidfd_open", pid, 0);
  if (fd < 0) return;
  if (readProcess(pid)?.startedAt === startedAt) systemCall("pidfd_send_signal", fd, SIGKILL, 0, 0);
  closeSync(fd);
}
