import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** The controllers that bound a call: cgroups(7). */
export type Controller = "memory" | "pids";

/** The directory in which the cgroups of calls with a controller are created. */
export interface Hierarchy {
  readonly version: 1 | 2;
  readonly directory: string;
}

/** The files of a cgroup that set its limits. */
export const LIMIT_FILES: Readonly<Record<Controller, Readonly<Record<1 | 2, string>>>> = {
  memory: { 1: "memory.limit_in_bytes", 2: "memory.max" },
  pids: { 1: "pids.max", 2: "pids.max" },
};

/**
 * Finds where this process may create cgroups with a controller: in its own cgroup, or with version 2 also beside it, as
 * version 2 has processes only in the leaves. Returns the reason if there is no such place.
 */
export function findHierarchy(controller: Controller): Hierarchy | string {
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

/** Has the children of a cgroup get a controller. */
function delegate(directory: string, controller: Controller): void {
  const file = join(directory, "cgroup.subtree_control");
  if (!readFileSync(file, "utf8").split(/\s+/).includes(controller)) writeFileSync(file, `+${controller}`);
}
