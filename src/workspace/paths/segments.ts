import { EscapeError, WorkspaceError } from "../error.ts";

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
