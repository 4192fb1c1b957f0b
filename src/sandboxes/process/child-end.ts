import type { ChildProcess } from "node:child_process";
import type { Readable } from "node:stream";

/** Resolves with the exit code of a process; with -1 if it was killed or could not be started. */
export function exitOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve) => {
    child.on("exit", (code) => resolve(code ?? -1));
    child.on("error", () => resolve(-1));
  });
}

/**
 * Resolves when a process has exited, and everything that it wrote has been read.
 *
 * @param streams Those that it wrote to besides its own ones of Node.js.
 */
export async function closeOf(child: ChildProcess, ...streams: readonly Readable[]): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    child.on("close", () => resolve());
    child.on("error", () => resolve());
  });
  await Promise.all([closed, ...streams.map(closeOfStream)]);
}

function closeOfStream(stream: Readable): Promise<void> {
  return new Promise((resolve) => void stream.once("close", () => resolve()));
}
