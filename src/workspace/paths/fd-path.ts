import { constants, existsSync } from "node:fs";

/**
 * Opens a place without its contents: nothing is read, and no FIFO or device notices (`open(2)`). Node.js does not
 * name it; it is the same on every Linux that Node.js runs on.
 */
export const O_PATH = 0o10000000;

/** A directory, and no link to one. */
export const DIRECTORY_FLAGS: number = O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** Whatever a name stands for; of a link, the link itself. */
export const ENTRY_FLAGS: number = O_PATH | constants.O_NOFOLLOW;

const isSupported = process.platform === "linux" && existsSync("/proc/self/fd");

/** Whether directories can be granted here: on Linux with `/proc`, where an open directory has a path of its own. */
export function workspaceIsSupported(): boolean {
  return isSupported;
}

/** What an open descriptor stands for, wherever it was moved in the meantime (`proc_pid_fd(5)`). */
export function fdPath(fd: number): string {
  return `/proc/self/fd/${fd}`;
}

/** A name in an open directory: what `openat(2)` and its kin would be told. `name` must be one checked name. */
export function entryPath(directory: number, name: string): string {
  return `/proc/self/fd/${directory}/${name}`;
}
