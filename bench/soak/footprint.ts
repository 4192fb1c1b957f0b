import { existsSync, readdirSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

/** The resources of a process. */
export interface Footprint {
  readonly rssMiB: number;
  readonly heapMiB: number;
  /** Sockets, timers, pipes and other handles that keep the event loop alive. */
  readonly handles: number;
  /** Open file descriptors; `undefined` if the system does not report them. */
  readonly descriptors: number | undefined;
  /** Threads of the system, including Node's own; `undefined` if the system does not report them. */
  readonly threads: number | undefined;
}

/** Measures this process after a garbage collection. */
export function footprint(): Footprint {
  collectGarbage();
  const { rss, heapUsed } = process.memoryUsage();
  return {
    rssMiB: rss / 2 ** 20,
    heapMiB: heapUsed / 2 ** 20,
    handles: process.getActiveResourcesInfo().length,
    descriptors: entries("/proc/self/fd"),
    threads: entries("/proc/self/task"),
  };
}

function entries(folder: string): number | undefined {
  return existsSync(folder) ? readdirSync(folder).length : undefined;
}
