import { basename, posix } from "node:path";
import { checkAt, checkHostPath, checkWrite, type WritesProtected } from "./fs-members.ts";

/**
 * One file that a tool may access, without its directory: no other file, and no listing. No part of the path may be a
 * link. With `write`, the tool may also create the file, but not remove or rename it.
 */
export interface FileGrant {
  /** Absolute path on this machine. */
  readonly file: string;
  /**
   * The directory above the file that the grant names, if the rest of the path came from elsewhere, such as an argument.
   * It must exist. Default: the grant names the file itself.
   */
  readonly within?: string;
  /** Path at which the tool sees the file. Default: the name of the file after `/`. */
  readonly at?: string;
  /** Whether the tool may also change the file. Default: false. */
  readonly write?: boolean;
  /** As for a directory: paths relative to `within`. Default: only the places that `within`, or else `file`, names. */
  readonly writesProtected?: WritesProtected;
}

/**
 * Checks a grant, and returns a frozen copy with defaults filled in.
 *
 * @throws {TypeError} if it is invalid.
 */
export function checkFileGrant({
  file,
  within,
  at,
  write = false,
  writesProtected,
  ...others
}: FileGrant): FileGrant {
  const outer = within === undefined ? undefined : checkHostPath("within", within);
  const path = checkHostPath("file", file);
  if (path === "/" || file.endsWith("/"))
    throw new TypeError("capability 'fs' must have the path of a file as each 'file'");
  if (outer !== undefined && !isBelow(path, outer)) {
    throw new TypeError("capability 'fs' must have each 'file' below its 'within'");
  }
  const place = checkAt(at ?? `/${basename(path)}`);
  if (place.endsWith("/"))
    throw new TypeError("capability 'fs' must have the path of a file as the 'at' of a file");
  return Object.freeze({
    file: path,
    ...(outer !== undefined && { within: outer }),
    at: place,
    ...checkWrite(write, writesProtected, others),
  });
}

/** Whether a path in its normal form is below a directory. */
export function isBelow(path: string, directory: string): boolean {
  return path.startsWith(directory === "/" ? directory : `${directory}/`);
}

/** Returns a path below a directory, relative to it. */
export function pathBelow(path: string, directory: string): string {
  return posix.relative(directory, path);
}
