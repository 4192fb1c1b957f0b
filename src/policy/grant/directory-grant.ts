import { checkAt, checkHostPath, checkWrite, type WritesProtected } from "./fs-members.ts";

/** A directory that a tool may access, with everything below it. */
export interface DirectoryGrant {
  /** Absolute path on this machine. The tool never sees it. */
  readonly directory: string;
  /** Path at which the tool sees the directory: absolute, with `/` between its segments. Default: `/`. */
  readonly at?: string;
  /** Whether the tool may also change the directory's contents. Default: false. */
  readonly write?: boolean;
  /**
   * Which protected places in the directory the tool may change as well, those that SECURITY.md lists: paths relative to
   * the directory, or `true` for all. Requires `write`. Default: only those that `directory` itself names.
   */
  readonly writesProtected?: WritesProtected;
}

/**
 * Checks a grant, and returns a frozen copy with defaults filled in.
 *
 * @throws {TypeError} if it is invalid.
 */
export function checkDirectoryGrant({
  directory,
  at = "/",
  write = false,
  writesProtected,
  ...others
}: DirectoryGrant): DirectoryGrant {
  const checked = { directory: checkHostPath("directory", directory), at: checkAt(at) };
  return Object.freeze({ ...checked, ...checkWrite(write, writesProtected, others) });
}
