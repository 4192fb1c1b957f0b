import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { isBuiltin } from "node:module";
import type { Readable, Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { entryFile } from "../../../base/entry-file.ts";
import { NODE_OPTIONS } from "../../process/landlock/node-options.ts";

/** Whether {@link sealMemory} can be used: it needs `node:ffi`. */
export function canSealMemory(): boolean {
  return process.platform === "linux" && isBuiltin("node:ffi");
}

/**
 * Copies the memory of a saved machine to a file in memory that cannot be changed, so that machines can map it as they would
 * map a file of their own: a private mapping of QEMU 7 needs a file that is opened for writing.
 *
 * @param file The state with the memory at its end, in the cache.
 * @param bytes The size of the memory.
 * @returns a descriptor of the copy. The copy is gone when it is closed, and no machine has it.
 * @throws {Error} if that is not possible. The message is for operators.
 */
export async function sealMemory(file: string, bytes: number): Promise<number> {
  const memory = openSync(file, "r");
  const child = spawn(
    process.execPath,
    [...NODE_OPTIONS, entryFile("sandboxes/microvm/qemu/child/seal-memory"), `${bytes}`],
    { env: {}, stdio: ["pipe", "pipe", "pipe", memory] },
  );
  closeSync(memory);
  const [stdin, stdout, stderr] = child.stdio as unknown as [Writable, Readable, Readable];
  const ended = once(child, "close");
  ended.catch(() => {});
  stdin.on("error", () => {});
  const said = text(stderr);
  try {
    const first = once(stdout, "data").then(([chunk]) => Number(String(chunk)));
    const descriptor = await Promise.race([first, ended]);
    if (typeof descriptor !== "number" || !Number.isInteger(descriptor))
      throw new Error(`the memory of a machine cannot be sealed: ${(await said).trim()}`);
    return openSync(`/proc/${child.pid}/fd/${descriptor}`, "r");
  } finally {
    stdin.end();
  }
}
