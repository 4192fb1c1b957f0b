import { closeSync, type Dirent, lstatSync, openSync, readdirSync, readlinkSync, type Stats } from "node:fs";
import { join, relative } from "node:path";
import { Guard, type GuardedPlace } from "./guard/guard.ts";
import { ENTRY_FLAGS, fdPath } from "./paths/fd-path.ts";
import { DirectoryGrantError } from "./root.ts";

/** How many entries of a granted directory are looked at for hard links to guarded files. */
const MAX_ENTRIES = 50_000;

/** What has to be covered in a granted directory before a program sees it. Paths are relative to the directory. */
export interface GuardedCover {
  /** What is shown read-only. */
  readonly readOnly: readonly string[];
  /** What is not shown at all. */
  readonly hidden: readonly { readonly path: string; readonly isFolder: boolean }[];
  /** The directories on the way: they must not be moved away. */
  readonly above: readonly string[];
  /** Guarded files that do not exist. */
  readonly missing: readonly string[];
}

const NOTHING: GuardedCover = { readOnly: [], hidden: [], above: [], missing: [] };

/** What may be done with what a grant names itself; `undefined` for everything. */
export function guardedAccess(path: string): "none" | "read" | undefined {
  const guard = Guard.current();
  const stats = guard && lstatSync(path, { throwIfNoEntry: false });
  const access = guard?.accessTo(path);
  if (
    guard === undefined ||
    access === "none" ||
    stats === undefined ||
    stats.isDirectory() ||
    stats.nlink === 1
  )
    return access;
  return guard.accessByLink(stats) ?? access;
}

/**
 * Finds guarded files in a granted directory.
 *
 * @throws {DirectoryGrantError} if one of them could not be covered.
 */
export function coverOf(directory: string, isWritable: boolean): GuardedCover {
  const guard = Guard.current();
  if (guard === undefined) return NOTHING;
  const cover = {
    readOnly: new Set<string>(),
    hidden: new Map<string, boolean>(),
    above: new Set<string>(),
    missing: new Set<string>(),
  };
  const hide = (path: string, isFolder: boolean): unknown => cover.hidden.set(path, isFolder);
  for (const place of guard.placesIn(directory)) {
    const path = relative(directory, place.path);
    if (path === "" || path.startsWith("..")) {
      // Of the directory itself, it is for the caller to find out; of a folder around it, only some files are guarded.
      if (place.ending !== undefined) for (const file of filesWith(place, directory)) hide(file, false);
      continue;
    }
    const found = entryAt(place.path);
    if (found === undefined) {
      if (isWritable && place.ending === undefined) cover.missing.add(path);
      continue;
    }
    if (found.isSymbolicLink()) {
      if (isWritable)
        throw new DirectoryGrantError(
          `'${place.path}' is a link through which Sandgate reads a file of its own: grant a directory without it for writing`,
        );
      continue;
    }
    if (place.ending !== undefined) for (const file of filesWith(place, directory)) hide(file, false);
    else if (place.access === "none") hide(path, found.isDirectory());
    else if (isWritable) cover.readOnly.add(path);
    if (isWritable) for (const above of parentsOf(path)) cover.above.add(above);
  }
  for (const { path, access } of hardLinks(guard, directory, isWritable)) {
    if (access === "none") hide(path, false);
    else cover.readOnly.add(path);
  }
  return {
    readOnly: [...cover.readOnly].filter((path) => !cover.hidden.has(path)),
    hidden: Array.from(cover.hidden, ([path, isFolder]) => ({ path, isFolder })),
    above: [...cover.above].filter((path) => !cover.hidden.has(path) && !cover.readOnly.has(path)),
    missing: [...cover.missing].filter(
      (path) => !isBelowAny(path, [...cover.hidden.keys(), ...cover.readOnly]),
    ),
  };
}

/** Why a grant of a guarded file is refused. For operators. */
export function guardedText(path: string): string {
  return `'${path}' holds keys or records of Sandgate itself, which no grant lets a tool reach`;
}

/** Opens an entry of a granted directory, without following links. */
export function openCovered(directory: string, path: string): number {
  const whole = join(directory, path);
  const fd = openSync(whole, ENTRY_FLAGS);
  if (readlinkSync(fdPath(fd)) === whole) return fd;
  closeSync(fd);
  throw new DirectoryGrantError(`'${whole}' is reached through a link, and has a file of Sandgate itself`);
}

/** @throws {DirectoryGrantError} if it cannot be found out: a program could have closed the directory to hide the entry. */
function entryAt(path: string): Stats | undefined {
  return lookingAt(path, () => lstatSync(path, { throwIfNoEntry: false }), undefined);
}

function lookingAt<Found>(path: string, look: () => Found, none: Found): Found {
  try {
    return look();
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return none;
    throw new DirectoryGrantError(
      `'${path}' cannot be searched for files of Sandgate itself: ${String(error)}`,
    );
  }
}

function filesWith({ path, ending = "" }: GuardedPlace, directory: string): readonly string[] {
  const names = lookingAt(path, () => readdirSync(path, { recursive: true, encoding: "utf8" }), []);
  return names
    .filter((name) => name.endsWith(ending))
    .map((name) => relative(directory, join(path, name)))
    .filter((file) => !file.startsWith(".."));
}

function parentsOf(path: string): readonly string[] {
  const names = path.split("/").slice(0, -1);
  return names.map((_, index) => names.slice(0, index + 1).join("/"));
}

function isBelowAny(path: string, places: readonly string[]): boolean {
  return places.some((place) => path.startsWith(`${place}/`));
}

/** Files that a program could reach by another name. There are hardly ever any, and then the directory is searched. */
function hardLinks(
  guard: Guard,
  directory: string,
  isWritable: boolean,
): readonly { readonly path: string; readonly access: "none" | "read" }[] {
  const linked = lookingAt(directory, () => [...guard.linked()], []).filter(
    ({ access }) => isWritable || access === "none",
  );
  if (linked.length === 0) return [];
  const found: { path: string; access: "none" | "read" }[] = [];
  const waiting = [directory];
  let left = MAX_ENTRIES;
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    for (const entry of entriesOf(next)) {
      if (--left < 0)
        throw new DirectoryGrantError(
          `a file of Sandgate itself has several hard links, and '${directory}' has too many files to look for them: remove the other links`,
        );
      const path = join(next, entry.name);
      if (entry.isDirectory()) waiting.push(path);
      else if (entry.isFile()) {
        const stats = entryAt(path);
        const known = linked.find((each) => each.stats.dev === stats?.dev && each.stats.ino === stats.ino);
        if (known !== undefined) found.push({ path: relative(directory, path), access: known.access });
      }
    }
  }
  return found;
}

function entriesOf(directory: string): readonly Dirent[] {
  return lookingAt(directory, () => readdirSync(directory, { withFileTypes: true }), []);
}
