import { FileFailure } from "../../tool/file-failure.ts";
import type { FileEntry, WorkspaceFiles } from "../../tool/workspace-files.ts";
import { type IgnoreScope, isIgnored, scopeOf } from "./ignore-scope.ts";
import type { WalkOptions } from "./walk-options.ts";

interface Place {
  /** The path with a slash at its end; empty for the first directory. */
  readonly prefix: string;
  readonly scope: IgnoreScope | undefined;
}

/**
 * Finds the regular files at and below a path, in the order of their names, and of the files of a directory before those
 * further down. Links are not followed, and `.git` and what a `.gitignore` names are skipped; `start` itself is not.
 * Ends when the time of `pace` is up.
 *
 * @param start A file or a directory.
 * @returns the paths of the files.
 * @throws {FileFailure} if there is nothing at `start`, or it cannot be listed.
 */
export async function* walkFiles(
  files: WorkspaceFiles,
  start: string,
  options: WalkOptions,
): AsyncGenerator<string, void, undefined> {
  if ((await files.stat(start)).kind === "file") {
    yield start;
    return;
  }
  const { pace, gaps } = options;
  const first = prefixOf(start);
  const places: Place[] = [{ prefix: first, scope: await scopeAbove(files, first, options) }];
  for (let place = places.pop(); place !== undefined; place = places.pop()) {
    const { prefix } = place;
    await pace.turn();
    if (pace.isOver) return;
    let entries: readonly FileEntry[];
    try {
      entries = await list(files, prefix);
    } catch (error) {
      // Where the walk begins, the caller has to know.
      if (prefix === first || !(error instanceof FileFailure)) throw error;
      gaps.directories.push(prefix);
      continue;
    }
    const scope = await scopeOf(files, prefix, entries, place.scope, options);
    const below: Place[] = [];
    for (const entry of entries) {
      await pace.turn();
      const path = prefix + entry.name;
      const isSkipped = entry.kind === "other" || (await isIgnored(scope, path, entry, pace));
      if (pace.isOver) return;
      if (isSkipped) continue;
      if (entry.kind === "directory") below.push({ prefix: `${path}/`, scope });
      else yield path;
    }
    places.push(...below.reverse());
  }
}

/** Returns a path in the form of {@link Place.prefix}. */
export function prefixOf(path: string): string {
  const names = path.split("/").filter((name) => name !== "" && name !== ".");
  const root = path.startsWith("/") ? "/" : "";
  return names.length === 0 ? root : `${root}${names.join("/")}/`;
}

function list(files: WorkspaceFiles, prefix: string): Promise<readonly FileEntry[]> {
  return files.list(prefix.length > 1 ? prefix.slice(0, -1) : prefix || ".");
}

/** Reads the rules of the directories above a relative path. */
async function scopeAbove(
  files: WorkspaceFiles,
  prefix: string,
  options: WalkOptions,
): Promise<IgnoreScope | undefined> {
  const names = prefix.split("/").slice(0, -1);
  // What is above other paths may not be granted.
  if (prefix.startsWith("/") || names.includes("..")) return undefined;
  let scope: IgnoreScope | undefined;
  let above = "";
  for (const name of names) {
    scope = await scopeOf(files, above, await list(files, above), scope, options);
    above += `${name}/`;
  }
  return scope;
}
