import { isAbsolute, posix, resolve } from "node:path";

/** A directory that a tool may access, with everything below it. */
export interface DirectoryGrant {
  /** Absolute path on this machine. The tool never sees it. */
  readonly directory: string;
  /** Path at which the tool sees the directory: absolute, with `/` between its segments. Default: `/`. */
  readonly at?: string;
  /** Whether the tool may also change the directory's contents. Default: false. */
  readonly write?: boolean;
}

/**
 * Checks directory grants, and returns frozen copies with defaults filled in.
 *
 * @throws {TypeError} if a grant is invalid, or two grants have the same path for the tool.
 */
export function checkDirectoryGrants(grants: unknown): readonly DirectoryGrant[] {
  if (!Array.isArray(grants)) {
    throw new TypeError("capability 'fs' must be a list of { directory, at, write }");
  }
  const checked = grants.map(checkDirectoryGrant);
  const places = new Set(checked.map(({ at }) => at));
  if (places.size < checked.length) {
    throw new TypeError("capability 'fs' has two directories at the same path: give each a different 'at'");
  }
  return Object.freeze(checked);
}

function checkDirectoryGrant(grant: unknown): DirectoryGrant {
  const { directory, at = "/", write = false, ...others } = (grant ?? {}) as DirectoryGrant;
  if (typeof directory !== "string" || !isAbsolute(directory) || directory.includes("\0")) {
    throw new TypeError("capability 'fs' must have an absolute path as each 'directory'");
  }
  if (typeof at !== "string" || !at.startsWith("/") || posix.normalize(at) !== at || at.includes("\0")) {
    throw new TypeError(
      "capability 'fs' must have a normalized absolute path, such as '/data', as each 'at'",
    );
  }
  if (typeof write !== "boolean" || Object.keys(others).length > 0) {
    throw new TypeError("capability 'fs' must be a list of { directory, at, write }");
  }
  return Object.freeze({ directory: resolve(directory), at, ...(write && { write }) });
}

/**
 * Returns the directories that both sets grant, at the paths of `b`, and writable if both are. A directory
 * below another one does not count as granted by it, since a link may lie between them.
 */
export function commonDirectoryGrants(
  a: readonly DirectoryGrant[],
  b: readonly DirectoryGrant[],
): readonly DirectoryGrant[] {
  return b.flatMap(({ write, ...grant }) => {
    const same = a.filter(({ directory }) => resolve(directory) === resolve(grant.directory));
    if (same.length === 0) return [];
    return [{ ...grant, ...(write && same.some((other) => other.write) && { write: true }) }];
  });
}
