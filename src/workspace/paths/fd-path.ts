import { constants, existsSync } from "node:fs";

/**
 * Opens an entry without its contents, which does not affect FIFOs and devices (see `open(2)`). Node.js has
 * no constant for this flag; its value is the same on all Linux platforms of Node.js.
 */
export const O_PATH = 0o10000000;

/** Flags to open a directory, and fail for a link to one. */
export const DIRECTORY_FLAGS: number = O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** Flags to open an entry of any kind, without following a link. */
export const ENTRY_FLAGS: number = O_PATH | constants.O_NOFOLLOW;

let isSupported: boolean | undefined;

/** Whether directories can be granted: only on Linux with `/proc`, where open directories have paths. */
export function workspaceIsSupported(): boolean {
  isSupported ??= process.platform === "linux" && hasDescriptorPaths();
  return isSupported;
}

function hasDescriptorPaths(): boolean {
  try {
    return existsSync("/proc/self/fd");
  } catch {
    // Node.js's permission model does not let this process read it.
    return false;
  }
}

/**
 * Returns a path to the file of an open descriptor, which stays valid if the file is moved
 * (`proc_pid_fd(5)`).
 */
export function fdPath(fd: number): string {
  return `/proc/self/fd/${fd}`;
}

/**
 * Returns a path to an entry of an open directory, as an alternative to `openat(2)`. `name` must be a single
 * name.
 */
export function entryPath(directory: number, name: string): string {
  return `/proc/self/fd/${directory}/${name}`;
}
