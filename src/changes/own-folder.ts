import { createHash } from "node:crypto";
import { closeSync, mkdirSync, openSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { syscall, syscallUnless, WorkspaceError } from "../workspace/error.ts";
import { DIRECTORY_FLAGS, entryPath, realPath } from "../workspace/paths.ts";
import { OWN_PREFIX } from "../workspace/protected-places.ts";
import { openGranted } from "../workspace/root.ts";

/** The folder of shadows, in Sandgate's own folder of a workspace. */
export const SHADOWS = "shadows";

/** The name of Sandgate's own folder in a workspace. No tool can change it. */
export const OWN_FOLDER: string = OWN_PREFIX;

/**
 * Creates a folder in Sandgate's own folder of a workspace if it does not exist, and returns its path, which
 * contains no links. Git ignores it.
 *
 * @param names The names of nested folders.
 * @throws {DirectoryGrantError} if the workspace does not exist, or is reached through a link.
 * @throws {WorkspaceError} if there is something else in the folder's place.
 */
export function ownFolder(workspace: string, ...names: readonly string[]): string {
  let fd = openGranted(workspace);
  try {
    for (const [index, name] of [OWN_FOLDER, ...names].entries()) {
      const path = entryPath(fd, name);
      const isNew = syscallUnless(["exist"], () => mkdirSync(path, 0o700) ?? true);
      const next = syscall(() => openSync(path, DIRECTORY_FLAGS));
      closeSync(fd);
      fd = next;
      if (index === 0 && isNew)
        syscall(() => writeFileSync(entryPath(fd, ".gitignore"), "*\n", { flag: "wx" }));
    }
    const folder = join(workspace, OWN_FOLDER, ...names);
    if (realPath(fd) !== folder) throw new WorkspaceError("not-permitted");
    return folder;
  } finally {
    closeSync(fd);
  }
}

/** Removes a folder that {@link ownFolder} returned, with all that is in it. Links in it are not followed. */
export function removeOwnFolder(folder: string): void {
  syscall(() => rmSync(folder, { recursive: true, force: true }));
}

const SAFE_NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** Returns a folder name for an id: the id itself if that is safe, or else a digest of it. */
export function folderName(id: string): string {
  if (SAFE_NAME.test(id)) return id;
  return `~${createHash("sha256").update(id).digest("hex").slice(0, 32)}`;
}

/** Returns the names of the folders in one of Sandgate's own folders, except for `own`. */
export function otherFolders(workspace: string, folder: string, own: string): readonly string[] {
  const entries = syscall(() => readdirSync(join(workspace, OWN_FOLDER, folder), { withFileTypes: true }));
  return entries.flatMap((entry) => (entry.isDirectory() && entry.name !== own ? [entry.name] : []));
}

/** Returns the workspace of which a directory is a shadow; `undefined` if it is not a shadow. */
export function shadowedBy(directory: string): string | undefined {
  const names = directory.split("/");
  if (names.at(-2) !== SHADOWS || names.at(-3) !== OWN_PREFIX) return undefined;
  return names.slice(0, -3).join("/") || "/";
}
