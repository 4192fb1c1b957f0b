import type { FileChange } from "../tool/changes.ts";
import type { EntryStat } from "./entry-stat.ts";
import { WorkspaceError } from "./error.ts";
import { statPath } from "./open-path.ts";
import type { TouchedEntry } from "./touched-entries.ts";

/**
 * Compares an entry with what it was before the call changed it. A directory is a change only if it was moved.
 *
 * @param root The open granted directory.
 * @returns `undefined` if it is not there now and was not before.
 */
export function changeOf(
  { path, existed, isMovedDirectory }: TouchedEntry,
  root: number,
): FileChange | undefined {
  const stat = statOf(root, path);
  const isDirectory = stat === undefined ? isMovedDirectory === true : stat?.kind === "directory";
  if (isDirectory && !isMovedDirectory) return undefined;
  const shown = isDirectory ? `${path}/` : path;
  if (stat === undefined) return existed ? { path: shown, change: "deleted", bytes: 0 } : undefined;
  const bytes = isDirectory ? 0 : Number(stat?.size ?? 0);
  return { path: shown, change: existed ? "modified" : "created", bytes };
}

/** The status of an entry: `undefined` if it is not there, `null` if it cannot be read. */
function statOf(root: number, path: string): EntryStat | undefined | null {
  try {
    return statPath(root, path, { links: "refused" });
  } catch (error) {
    if (!(error instanceof WorkspaceError)) throw error;
    return ["no-entry", "not-directory", "loop"].includes(error.code) ? undefined : null;
  }
}
