import { isAbsolute, posix, resolve } from "node:path";

/** A directory that a tool may use, with everything below it. */
export interface DirectoryGrant {
  /** The absolute path on this machine. The tool never sees it. */
  readonly directory: string;
  /** Where the tool sees it: an absolute path with `/` between its parts. Default: `/`. */
  readonly at?: string;
  /** Whether the tool may also change what is in it. Default: false. */
  readonly write?: boolean;
}

/**
 * Checks grants that came from outside, and completes them.
 *
 * @throws {TypeError} when one is of the wrong shape, or two are seen in the same place.
 */
export function checkDirectoryGrants(grants: unknown): readonly DirectoryGrant[] {
  if (!Array.isArray(grants)) {
    throw new TypeError("capability 'fs' must be a list of { directory, at, write }");
  }
  const checked = grants.map(checkDirectoryGrant);
  const places = new Set(checked.map(({ at }) => at));
  if (places.size < checked.length) {
    throw new TypeError("capability 'fs' shows two directories in one place: give each its own 'at'");
  }
  return Object.freeze(checked);
}

function checkDirectoryGrant(grant: unknown): DirectoryGrant {
  const { directory, at = "/", write = false, ...others } = (grant ?? {}) as DirectoryGrant;
  if (typeof directory !== "string" || !isAbsolute(directory) || directory.includes("\0")) {
    throw new TypeError("capability 'fs' must name each directory by its absolute path");
  }
  if (typeof at !== "string" || !at.startsWith("/") || posix.normalize(at) !== at || at.includes("\0")) {
    throw new TypeError("capability 'fs' must show each directory at an absolute path such as '/data'");
  }
  if (typeof write !== "boolean" || Object.keys(others).length > 0) {
    throw new TypeError("capability 'fs' must be a list of { directory, at, write }");
  }
  return Object.freeze({ directory: resolve(directory), at, ...(write && { write }) });
}

/**
 * What both sets of grants give: the directories in both, seen where the second one says, writable where both
 * are. A directory below another one is not in it: what lies between them may be a link.
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
