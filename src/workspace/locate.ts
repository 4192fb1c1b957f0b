import type { WorkspaceDirectory } from "./directory.ts";
import { WorkspaceError } from "./error.ts";
import type { MountedDirectory } from "./workspace.ts";

/** The longest path of a tool, in characters. */
const MAX_PATH_CHARACTERS = 4_096;

/** Where a tool's path begins. */
export interface Location {
  readonly directory: WorkspaceDirectory;
  /** Relative to it, and still hostile: the walk along it decides where it leads. */
  readonly path: string;
}

/**
 * Finds the granted directory in which an absolute path of a tool lies: of several, the one that is seen deepest.
 * `..` is not resolved here, so that it never leads from one granted directory to another.
 *
 * @param path Hostile.
 * @throws {WorkspaceError} when it is not absolute (`invalid`), too long, or in none of them (`not-permitted`).
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
  if (deepest === undefined) throw new WorkspaceError("not-permitted");
  return deepest;
}

function namesOf(path: string): string[] {
  return path.split("/").filter((name) => name !== "");
}

function relativePath(names: readonly string[], isDirectory: boolean): string {
  if (names.length === 0) return ".";
  return isDirectory ? `${names.join("/")}/` : names.join("/");
}
