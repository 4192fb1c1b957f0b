import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { hasEnded, processMark } from "../../../base/temporary-directory.ts";
import type { ResourceLimits } from "../../../policy/grant/limits.ts";
import { type Controller, findHierarchy, type Hierarchy, LIMIT_FILES } from "./hierarchy.ts";

/** How often the removal of a cgroup is tried whose last process has just ended, and ms between two tries. */
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
   * Creates a cgroup that will hold `memoryBytes` and `processes`, as far as there are controllers.
   *
   * @param ownProcesses How many processes are in it besides the program's.
   * @returns `undefined` if there is nothing to hold.
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

  /** Sets the limits, which hold from then on. */
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

  /** The most bytes of memory that the processes had; `undefined` if they are not counted. */
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
          // The kernel has not let go of the last process yet.
        }
    }
  }
}

/** Removes the cgroups that processes have left behind which did not end in order. The kernel keeps those with processes. */
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
