import { existsSync, readdirSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

/** What a process holds. */
export interface Footprint {
  readonly rssMiB: number;
  readonly heapMiB: number;
  /** Sockets, timers, pipes and whatever else keeps the event loop alive. */
  readonly handles: number;
  /** File descriptors that are open; `undefined` where the system does not tell. */
  readonly descriptors: number | undefined;
  /** The system's threads, Node's own among them; `undefined` where the system does not tell. */
  readonly threads: number | undefined;
}

/** Looks at this process; garbage is collected first. */
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
