import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { dirname, sep } from "node:path";
import { entryFile } from "../../../base/package-files.ts";

/** The maximum CPU time of a child. Its wall time depends on the load of the machine, so its limit is only a backstop. */
export const MAX_CPU_MS = 10_000;

/** After this many milliseconds, the child is killed. */
export const TIMEOUT_MS = 30_000;
const HEAP_MIB = 512;

/** What a child is started with. */
interface ChildOptions {
  /** Ends the child when it is aborted. */
  readonly signal: AbortSignal;
  /** What the child gets after the path of `resource-watch.ts` and {@link MAX_CPU_MS}. Default: nothing. */
  readonly args?: readonly string[];
  /** Folders that it can read in addition to its own code. Default: none. */
  readonly readable?: readonly string[];
}

/**
 * Starts a process of this Node.js for work that could harm the main process. Under Node's permission model it can read its
 * own code, and start a thread, which watches it: `resource-watch.ts`.
 *
 * @param file The entry file of the child.
 */
export function startLimitedChild(
  file: string,
  { signal, args = [], readable = [] }: ChildOptions,
): ChildProcessWithoutNullStreams {
  const watch = entryFile("sandboxes/wasm/validation/resource-watch");
  const folders = new Set([dirname(file), dirname(watch), ...readable]);
  const flags = [
    "--no-warnings",
    "--permission",
    "--allow-worker",
    `--max-old-space-size=${HEAP_MIB}`,
    ...Array.from(folders, (folder) => `--allow-fs-read=${folder}${sep}*`),
  ];
  // Loading the module takes several milliseconds, and few components need it.
  const { spawn } = process.getBuiltinModule("node:child_process");
  const child = spawn(process.execPath, [...flags, file, watch, String(MAX_CPU_MS), ...args], {
    env: {},
    stdio: ["pipe", "pipe", "pipe"],
    timeout: TIMEOUT_MS,
    killSignal: "SIGKILL",
    signal,
  });
  // The process may end before it has read everything. Its exit gives the reason.
  child.stdin.on("error", () => {});
  return child;
}
