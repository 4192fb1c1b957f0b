import { closeSync, constants, fsyncSync, openSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Creates an empty file that only its owner can read and write, unless the path exists. It is still there after a loss of
 * power.
 *
 * @throws what the file system throws.
 */
export function createPrivateFile(file: string): void {
  try {
    closeSync(openSync(file, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return;
    throw error;
  }
  const folder = openSync(dirname(file), "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
