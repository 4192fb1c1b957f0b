import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { hasEnded, processMark } from "../../base/temporary-directory.ts";
import type { ResourceLimits } from "../../policy/grant/limits.ts";

/** The controllers that bound a call: cgroups(7). */
type Controller = "memory" | "pids";

/** The directory in which the cgroups of calls with a controller are created. */
export interface Hierarchy {
  readonly version: 1 | 2;
  readonly directory: string;
}

/** The files of a cgroup that set its limits. */
const LIMIT_FILES: Readonly<Record<Controller, Readonly<Record<1 | 2, string>>>> = {
  memory: { 1: "memory.limit_in_bytes", 2: "memory.max" },
  pids: { 1: "pids.max", 2: "pids.max" },
};

/**
 * Maximum number of attempts to remove a cgroup whose last process has just ended, and milliseconds between
 * them.
 */
const REMOVALS = 40;
const REMOVAL_MS = 5;

/** Where the cgroups of calls are created, for each controller, or why they cannot be. */
export class Cgroups {
  readonly memory: Hierarchy | string = findHierarchy("memory");
  readonly pids: Hierarchy | string = findHierarchy("pids");
  #created = 0;

  constructor() {
    for (const hierarchy of [this.memory, this.pids])
      if (typeof hierarchy !== "string") removeLeft(hierarchy.directory);
  }

  /**
   * Creates a cgroup that enforces `memoryBytes` and `processes`, as far as the controllers exist.
   *
   * @param ownProcesses How many processes it contains in addition to those of the program.
   * @returns `undefined` if there is nothing to enforce.
   * @throws {Error} if it cannot be created.
   */
  create({ memoryBytes, processes }: ResourceLimits, ownProcesses: number): Cgroup | undefined {
    const limits: (readonly [Controller, Hierarchy, number])[] = [];
    if (memoryBytes !== undefined && typeof this.memory !== "string")
      limits.push(["memory", this.memory, memoryBytes]);
    if (processes !== undefined && typeof this.pids !== "string")
      limits.push(["pids", this.pids, processes + ownProcesses]);
    return limits.length === 0
      ? undefined
      : new Cgroup(`sandgate-${processMark()}-${this.#created++}`, limits);
  }
}

/** What the kernel counts of the memory of a cgroup. */
interface MemoryCounts {
  readonly ranOutOfMemory: boolean;
  readonly peakBytes: number | undefined;
}

/** The cgroup of one call: with version 1, one for each controller. What was counted is known after its removal, too. */
export class Cgroup implements AsyncDisposable {
  readonly #directories = new Set<string>();
  readonly #limits: (readonly [file: string, limit: number])[] = [];
  #memory: { readonly events: string; readonly peak: string } | undefined;
  /** Set when the cgroup is removed. */
  #last: MemoryCounts | undefined;

  constructor(name: string, limits: readonly (readonly [Controller, Hierarchy, number])[]) {
    try {
      for (const [controller, hierarchy, limit] of limits) this.#limit(name, controller, hierarchy, limit);
    } catch (error) {
      void this[Symbol.asyncDispose]();
      throw error;
    }
  }

  #limit(
    name: string,
    controller: Controller,
    { version, directory: parent }: Hierarchy,
    limit: number,
  ): void {
    const directory = join(parent, name);
    if (!this.#directories.has(directory)) mkdirSync(directory);
    this.#directories.add(directory);
    this.#limits.push([join(directory, LIMIT_FILES[controller][version]), limit]);
    if (controller !== "memory") return;
    const [events, peak] =
      version === 1 ? ["memory.oom_control", "memory.max_usage_in_bytes"] : ["memory.events", "memory.peak"];
    this.#memory = { events: join(directory, events), peak: join(directory, peak) };
    this.#limits.push(...swapLimit(directory, version, limit));
  }

  /** Sets the limits, which apply from then on. */
  enforce(): void {
    for (const [file, limit] of this.#limits) writeFileSync(file, `${limit}`);
  }

  /** Puts a process into the cgroup, with all that it starts from then on. */
  add(pid: number): void {
    for (const file of this.processFiles) writeFileSync(file, `${pid}`);
  }

  /** The files that put into the cgroup whose number is written to them; with 0, the process that writes. */
  get processFiles(): readonly string[] {
    return Array.from(this.#directories, (directory) => join(directory, "cgroup.procs"));
  }

  /** Whether the kernel has killed a process since there was no more memory. */
  get ranOutOfMemory(): boolean {
    return this.#counts.ranOutOfMemory;
  }

  /** The peak memory of the processes in bytes; `undefined` if they are not counted. */
  get peakBytes(): number | undefined {
    return this.#counts.peakBytes;
  }

  /** A count that cannot be read is left out: Linux before 5.19 does not have the peak with version 2. */
  get #counts(): MemoryCounts {
    if (this.#last !== undefined) return this.#last;
    const { events, peak } = this.#memory ?? {};
    const [kills, bytes] = [events, peak].map((file) => file && readText(file));
    return {
      ranOutOfMemory: Number(/^oom_kill (\d+)$/m.exec(kills ?? "")?.[1] ?? 0) > 0,
      peakBytes: bytes === undefined ? undefined : Number(bytes),
    };
  }

  /** Removes the cgroup, whose processes have ended. If they have not, it is left behind. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#last ??= this.#counts;
    for (let tries = 0; this.#directories.size > 0 && tries < REMOVALS; tries++) {
      if (tries > 0) await wait(REMOVAL_MS);
      for (const directory of this.#directories)
        try {
          rmdirSync(directory);
          this.#directories.delete(directory);
        } catch {
          // The kernel has not released the last process yet.
        }
    }
  }
}

/**
 * Removes stale cgroups of processes that did not shut down properly. The kernel refuses for those with
 * processes.
 */
function removeLeft(directory: string): void {
  for (const name of namesIn(directory)) {
    if (!hasEnded(/^sandgate-(\d+-\d+-\d+)-\d+$/.exec(name)?.[1])) continue;
    try {
      rmdirSync(join(directory, name));
    } catch {
      // Another process may have removed it, or its programs have not ended.
    }
  }
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}

/** Pages that are swapped out would not count as memory. */
function swapLimit(
  directory: string,
  version: 1 | 2,
  limit: number,
): readonly (readonly [file: string, limit: number])[] {
  const [name, value] =
    version === 1 ? (["memory.memsw.limit_in_bytes", limit] as const) : (["memory.swap.max", 0] as const);
  const file = join(directory, name);
  // The file is there only if the kernel counts swapped pages.
  return existsSync(file) ? [[file, value]] : [];
}

/**
 * Finds where this process may create cgroups with a controller: in its own cgroup, or with version 2 also beside it, as
 * version 2 has processes only in the leaves. Returns the reason if there is no such place.
 */
function findHierarchy(controller: Controller): Hierarchy | string {
  let candidates: readonly Hierarchy[];
  try {
    candidates = candidatesFor(
      controller,
      readFileSync("/proc/self/cgroup", "utf8"),
      readFileSync("/proc/self/mountinfo", "utf8"),
    );
  } catch {
    return "this machine has no cgroups";
  }
  if (candidates.length === 0) return `no cgroup has the controller '${controller}'`;
  return (
    candidates.find((candidate) => isUsable(candidate, controller)) ??
    `this process may not create cgroups with the controller '${controller}'`
  );
}

/**
 * Returns the directories in which there could be such a place.
 *
 * @param own `/proc/self/cgroup`.
 * @param mounts `/proc/self/mountinfo`.
 */
export function candidatesFor(controller: Controller, own: string, mounts: string): readonly Hierarchy[] {
  const candidates: Hierarchy[] = [];
  for (const line of own.trim().split("\n")) {
    const [id, controllers = "", ...rest] = line.split(":");
    const path = rest.join(":");
    const version = id === "0" ? 2 : 1;
    if (version === 1 && !controllers.split(",").includes(controller)) continue;
    const directory = mountedAt(path, version, controller, mounts);
    if (directory === undefined) continue;
    candidates.push({ version, directory });
    if (version === 2 && path !== "/") candidates.push({ version, directory: dirname(directory) });
  }
  return candidates;
}

/** Where a cgroup is seen in the file system: proc_pid_mountinfo(5). */
function mountedAt(path: string, version: 1 | 2, controller: Controller, mounts: string): string | undefined {
  for (const line of mounts.trim().split("\n")) {
    const [before = "", after = ""] = line.split(" - ");
    const [, , , root = "", at = ""] = before.split(" ");
    const [type, , options = ""] = after.split(" ");
    if (type !== (version === 2 ? "cgroup2" : "cgroup")) continue;
    if (version === 1 && !options.split(",").includes(controller)) continue;
    if (root === "/") return join(at, path);
    if (path === root || path.startsWith(`${root}/`)) return join(at, path.slice(root.length));
  }
  return undefined;
}

/** Whether a cgroup that is created there has the controller. */
function isUsable({ version, directory }: Hierarchy, controller: Controller): boolean {
  const probe = join(directory, `sandgate-probe-${process.pid}`);
  try {
    if (version === 2) delegate(directory, controller);
    mkdirSync(probe);
    const has = existsSync(join(probe, LIMIT_FILES[controller][version]));
    rmdirSync(probe);
    return has;
  } catch {
    return false;
  }
}

/** Enables a controller for the children of a cgroup. */
function delegate(directory: string, controller: Controller): void {
  const file = join(directory, "cgroup.subtree_control");
  if (!readFileSync(file, "utf8").split(/\s+/).includes(controller)) writeFileSync(file, `+${controller}`);
}
