import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { isBuiltin } from "node:module";
import { promisify } from "node:util";
import { entryFile } from "../../../base/entry-file.ts";
import { seccompFilter } from "../seccomp/filter.ts";
import { NODE_OPTIONS } from "./node-options.ts";

/**
 * The version of Landlock's interface that is needed, of Linux 6.12: earlier ones do not keep programs from sending signals
 * to any process of the user, this one included.
 */
const LEAST_VERSION = 6;

/** Returns why programs cannot be confined with Landlock on this machine; `undefined` if they can. */
export async function landlockProblem(): Promise<string | undefined> {
  if (process.platform !== "linux") return "programs can be confined on Linux only";
  if (seccompFilter() === undefined) return `there is no seccomp filter for ${process.arch}`;
  if (!isBuiltin("node:ffi")) return `Node.js ${process.versions.node} has no node:ffi, which Landlock needs`;
  if (!existsSync("/proc/self/stat")) return "Landlock needs /proc, to find the processes of a program";
  const probe = entryFile("sandboxes/process/landlock/child/probe");
  let version: number;
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [...NODE_OPTIONS, probe], { env: {} });
    version = Number(stdout);
  } catch (error) {
    const { stderr = "" } = error as { readonly stderr?: string };
    return `Node.js cannot be started to find Landlock: ${stderr.trim()}`;
  }
  if (version >= LEAST_VERSION) return undefined;
  if (version === 0) return "the kernel has no Landlock, or it is not in its list of security modules (lsm=)";
  return `Landlock is too old: version ${version} of its interface, and ${LEAST_VERSION} (Linux 6.12) is needed`;
}
