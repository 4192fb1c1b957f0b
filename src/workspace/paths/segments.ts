import { WorkspaceError } from "../error.ts";

/** The longest path, in UTF-8 bytes (`PATH_MAX` without the last NUL). */
const MAX_PATH_BYTES = 4_095;

/** The longest name, in UTF-8 bytes (`NAME_MAX`). */
const MAX_NAME_BYTES = 255;

/** Characters that no name here has. A backslash is one on Linux, and a separator to whoever reads it elsewhere. */
const NEVER_IN_NAMES = /[\0\\]/;

/**
 * Takes a relative path apart. `..` and `.` stay as they are: only the way itself tells where they lead. A path
 * that ends in `/` ends with `.`: it must lead to a directory.
 *
 * @param path Hostile.
 * @throws {WorkspaceError} when it is absolute (`not-permitted`), empty (`no-entry`), too long, or no text.
 */
export function pathSegments(path: string): string[] {
  if (path === "") throw new WorkspaceError("no-entry");
  if (path.length > MAX_PATH_BYTES || Buffer.byteLength(path) > MAX_PATH_BYTES) {
    throw new WorkspaceError("name-too-long");
  }
  if (path.startsWith("/")) throw new WorkspaceError("not-permitted");
  if (NEVER_IN_NAMES.test(path) || !path.isWellFormed()) throw new WorkspaceError("illegal-byte-sequence");
  const segments = path.split("/").filter((segment) => segment !== "");
  if (segments.some((segment) => Buffer.byteLength(segment) > MAX_NAME_BYTES)) {
    throw new WorkspaceError("name-too-long");
  }
  if (path.endsWith("/")) segments.push(".");
  return segments;
}

/** Whether a name that was found in a directory is one that a path can hold. */
export function isReachable(name: string): boolean {
  return !NEVER_IN_NAMES.test(name);
}
