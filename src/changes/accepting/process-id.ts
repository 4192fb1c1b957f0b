import { readFileSync } from "node:fs";

/** Identifies this process among all that this machine has run since it was started. */
export function ownProcess(): string {
  return `${process.pid}:${startOf(process.pid)}`;
}

/** Whether the process that a record names is still running. */
export function isRunning(id: string): boolean {
  const pid = Number(id.split(":", 1)[0]);
  return Number.isSafeInteger(pid) && pid > 0 && id === `${pid}:${startOf(pid)}`;
}

/** When a process began, in clock ticks since the machine was started (`proc_pid_stat(5)`); empty if it is not running. */
function startOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // Its second field, the name of the program, can contain anything.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" ? "" : (fields[19] ?? "");
  } catch {
    return "";
  }
}
