import { closeSync, readdirSync, readFileSync } from "node:fs";
import { systemCall } from "./c-library.ts";

const SIGKILL = 9;

/** Sends SIGKILL to all processes below this one. Those that begin meanwhile are left for the next time. */
export function killDescendants(): void {
  const all = new Map<number, Found>();
  for (const name of readdirSync("/proc")) {
    const found = /^\d+$/.test(name) ? readProcess(Number(name)) : undefined;
    if (found !== undefined) all.set(found.pid, found);
  }
  for (const found of all.values()) if (isDescendant(found, all)) kill(found);
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

/** The number could belong to another process by now: the descriptor cannot. */
function kill({ pid, startedAt }: Found): void {
  const fd = systemCall("pidfd_open", pid, 0);
  if (fd < 0) return;
  if (readProcess(pid)?.startedAt === startedAt) systemCall("pidfd_send_signal", fd, SIGKILL, 0, 0);
  closeSync(fd);
}
