import { basename, dirname, isAbsolute } from "node:path";
import { type FsGrant, isFileGrant } from "../../../policy/grant/fs-grant.ts";
import { EscapeError } from "../../../workspace/error.ts";
import { type Location, locate } from "../../../workspace/locate.ts";
import type { MountedDirectory } from "../../../workspace/workspace.ts";

/**
 * Finds what a path of a host tool is relative to: see `WorkspaceFiles`.
 *
 * @param mounted The open directories of the grants.
 * @throws {EscapeError} if nothing is granted there.
 */
export function findPath(
  mounted: readonly MountedDirectory[],
  grants: readonly FsGrant[],
  path: string,
): Location {
  if (path === "" || !isAbsolute(path)) return findRelative(mounted, path);
  const named = mounted.filter(({ at }) => at !== "/");
  return locateOr(named, path, () => findReal(mounted, grants, path));
}

function findRelative(mounted: readonly MountedDirectory[], path: string): Location {
  const [first] = mounted;
  return locateOr(mounted, `/${path}`, () => {
    if (first === undefined) throw new EscapeError();
    return { directory: first.directory, path };
  });
}

/** Finds a path of this machine. */
function findReal(mounted: readonly MountedDirectory[], grants: readonly FsGrant[], path: string): Location {
  const directories: MountedDirectory[] = [];
  for (const grant of grants) {
    const { at = "/" } = grant;
    const place = isFileGrant(grant) ? dirname(at) : at;
    const directory = mounted.find((each) => each.at === place)?.directory;
    if (directory === undefined) continue;
    if (!isFileGrant(grant)) directories.push({ at: grant.directory, directory });
    else if (grant.file === path) return { directory, path: basename(at) };
  }
  return locate(directories, path);
}

function locateOr(mounted: readonly MountedDirectory[], path: string, otherwise: () => Location): Location {
  try {
    return locate(mounted, path);
  } catch (error) {
    if (!(error instanceof EscapeError)) throw error;
    return otherwise();
  }
}
