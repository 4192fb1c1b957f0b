import { EscapeError, WorkspaceError } from "./error.ts";
import type { ToolDirectory } from "./tool-directory.ts";
import type { MountedDirectory } from "./workspace.ts";

/** Maximum length of a tool's path in characters. */
const MAX_PATH_CHARACTERS = 4_096;

/** A tool's path, resolved to a granted directory. */
export interface Location {
  readonly directory: ToolDirectory;
  /** Relative to the directory, and still untrusted: it can contain `..` and lead through links. */
  readonly path: string;
}

/**
 * Finds the granted directory for an absolute path of a tool; the most deeply mounted one if several match.
 * `..` is not resolved, so it cannot lead from one granted directory to another.
 *
 * @param path An untrusted path.
 * @throws {WorkspaceError} if the path is not absolute (`invalid`), too long (`name-too-long`), or outside
 *   the granted directories (`not-permitted`).
 */
export function locate(directories: readonly MountedDirectory[], path: string): Location {
  if (!path.startsWith("/")) throw new WorkspaceError("invalid");
  if (path.length > MAX_PATH_CHARACTERS) throw new WorkspaceError("name-too-long");
  const names = namesOf(path);
  let deepest: Location | undefined;
  let depth = -1;
  for (const { at, directory } of directories) {
    const place = namesOf(at);
    if (place.length <= depth || place.some((name, index) => name !== names[index])) continue;
    depth = place.length;
    deepest = { directory, path: relativePath(names.slice(depth), path.endsWith("/")) };
  }
  if (deepest === undefined) throw new EscapeError();
  return deepest;
}

function namesOf(path: string): string[] {
  return path.split("/").filter((name) => name !== "");
}

function relativePath(names: readonly string[], isDirectory: boolean): string {
  if (names.length === 0) return ".";
  return isDirectory ? `${names.join("/")}/` : names.join("/");
}
