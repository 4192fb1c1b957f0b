import { readdirSync, readFileSync } from "node:fs";

const NANOSECONDS = 1e6;

/**
 * The CPU time that a process and its descendants have used so far, in ms. Linux only.
 *
 * @param leavesOut Says of a descendant, by its command line, that it is not counted, nor are its own. The process itself always is.
 * @returns `undefined` on other systems.
 */
export function processTime(pid: number, leavesOut: (commandLine: string) => boolean): number | undefined {
  let total = 0;
  try {
    for (const each of family(pid, leavesOut)) total += timeOf(each);
  } catch (error) {
    if (process.platform !== "linux") return undefined;
    throw error;
  }
  return total;
}

function family(pid: number, leavesOut: (commandLine: string) => boolean): readonly number[] {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    textOf(`/proc/${pid}/task/${task}/children`).split(" ").filter(Boolean).map(Number),
  );
  const counted = children.filter((child) => !leavesOut(textOf(`/proc/${child}/cmdline`)));
  return [pid, ...counted.flatMap((child) => family(child, leavesOut))];
}

/** The time of all threads: the scheduler counts it in ns, where `/proc/PID/stat` has hundredths of seconds. */
function timeOf(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`);
  const times = threads.map((thread) =>
    Number(textOf(`/proc/${pid}/task/${thread}/schedstat`).split(" ")[0]),
  );
  return times.reduce((sum, each) => sum + each, 0) / NANOSECONDS;
}

/** A process or thread may have ended meanwhile. */
function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
