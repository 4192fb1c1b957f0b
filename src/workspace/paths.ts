import { constants, existsSync, readlinkSync } from "node:fs";
import { EscapeError, syscall, WorkspaceError } from "./error.ts";

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

/** Returns the current path of an open directory. */
export function realPath(fd: number, encoding: BufferEncoding = "utf8"): string {
  return syscall(() => readlinkSync(fdPath(fd), { encoding }));
}

/** Returns the names in a path. */
export function namesIn(path: string): string[] {
  return path.split("/").filter((name) => name !== "");
}

/** Maximum length of a path in UTF-8 bytes (`PATH_MAX` without the final NUL). */
const MAX_PATH_BYTES = 4_095;

/** Maximum length of a name in UTF-8 bytes (`NAME_MAX`). */
const MAX_NAME_BYTES = 255;

/**
 * Characters that names must not contain. Linux allows backslashes, but other systems read them as
 * separators.
 */
const NEVER_IN_NAMES = /[\0\\]/;

/**
 * Splits a relative path into segments. `..` and `.` are retained, since links decide where they lead. For a path
 * with a trailing `/`, which must lead to a directory, the last segment is `.`.
 *
 * @param path An untrusted path.
 * @throws {WorkspaceError} if the path is absolute (`not-permitted`), empty (`no-entry`) or too long
 *   (`name-too-long`), or contains invalid characters (`illegal-byte-sequence`).
 */
export function pathSegments(path: string): string[] {
  if (path === "") throw new WorkspaceError("no-entry");
  if (path.length > MAX_PATH_BYTES || Buffer.byteLength(path) > MAX_PATH_BYTES) {
    throw new WorkspaceError("name-too-long");
  }
  if (path.startsWith("/")) throw new EscapeError();
  if (NEVER_IN_NAMES.test(path) || !path.isWellFormed()) throw new WorkspaceError("illegal-byte-sequence");
  const segments = path.split("/").filter((segment) => segment !== "");
  if (segments.some((segment) => Buffer.byteLength(segment) > MAX_NAME_BYTES)) {
    throw new WorkspaceError("name-too-long");
  }
  if (path.endsWith("/")) segments.push(".");
  return segments;
}

/** Whether a path can contain a name that was found in a directory. */
export function isReachable(name: string): boolean {
  return !NEVER_IN_NAMES.test(name);
}
