import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import { syscall, syscallUnless } from "../error.ts";

const { O_NOCTTY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
const FLAGS = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;

/**
 * Reads a file of Sandgate's own folder as JSON. A link is not followed, and a pipe does not block.
 *
 * @param maxBytes The size of the longest file that is read.
 * @returns `undefined` if there is no such file, or it is none that Sandgate writes.
 */
export function readOwnFile(path: string, maxBytes: number): unknown {
  const fd = syscallUnless(["no-entry", "not-directory", "loop"], () => openSync(path, FLAGS));
  if (fd === undefined) return undefined;
  try {
    const stats = fstatSync(fd);
    if (!stats.isFile() || stats.size > maxBytes) return undefined;
    return JSON.parse(syscall(() => readFileSync(fd, "utf8")));
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  } finally {
    closeSync(fd);
  }
}
