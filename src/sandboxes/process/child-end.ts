import type { ChildProcess } from "node:child_process";

/** Resolves with the exit code of a process; with -1 if it was killed or could not be started. */
export function exitOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve) => {
    child.on("exit", (code) => resolve(code ?? -1));
    child.on("error", () => resolve(-1));
  });
}

/** Resolves when a process has exited, and everything that it wrote has been read. */
export function closeOf(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.on("close", () => resolve());
    child.on("error", () => resolve());
  });
}
