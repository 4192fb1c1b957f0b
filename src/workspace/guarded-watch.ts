import {
  closeSync,
  type Dirent,
  type FSWatcher,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  type Stats,
  watch,
} from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { onGuardedFiles } from "../base/guarded-files.ts";
import { isGone } from "./error.ts";

import { Guard, type GuardedPlace } from "./guard.ts";
import { ENTRY_FLAGS, fdPath } from "./paths.ts";
import { DirectoryGrantError } from "./root.ts";

/**
 * Milliseconds between two checks: if changes are reported, and if the system cannot watch more directories.
 */
const LOOK_MS = 1_000;

const UNREPORTED_LOOK_MS = 50;

interface WatchedPlace {
  readonly path: string;
  /** Where the program sees it. */
  readonly at: string;
  readonly before: ReadonlyMap<string, string>;
  readonly look: () => ReadonlyMap<string, string>;
}

/**
 * Notices when one of Sandgate's own files appears or is replaced in a directory that a program was granted:
 * a mount covers the old file only, and nothing covers a new one. The program has to be ended then.
 */
export class GuardedWatch implements Disposable {
  readonly #places: WatchedPlace[] = [];
  readonly #watchers: FSWatcher[] = [];
  readonly #stopListening = onGuardedFiles(() => this.#lookSoon());
  #looking: NodeJS.Timeout | undefined;
  #exposed: string | undefined;
  #listener: ((path: string) => void) | undefined;
  #isOver = false;

  /**
   * Watches the covered paths of a granted directory.
   *
   * @param at Where the program sees it.
   */
  addDirectory(path: string, isWritable: boolean, { found }: GuardedCover, at: string): void {
    this.#places.push({ path, at, before: found, look: () => coverOf(path, isWritable).found });
    if (found.size === 0) return;
    this.#watch();
    // Something may have changed before it was watched.
    this.#lookSoon();
  }

  /** Watches whether a granted file becomes a guarded one. */
  addFile(path: string, at: string): void {
    const look = (): ReadonlyMap<string, string> => new Map([["", guardedAccess(path) ?? ""]]);
    this.#places.push({ path, at, before: look(), look });
  }

  /** Calls a listener, at most once, in a later turn. It receives the path at which the program sees the file. */
  onExposed(listener: (path: string) => void): void {
    this.#listener = listener;
    if (this.#exposed !== undefined) setImmediate(() => this.#report());
  }

  /** Watches the directories that lead to the files, as they are now. */
  #watch(): void {
    this.#unwatch();
    let areReported = true;
    for (const [directory, names] of this.#names()) {
      try {
        const watcher = watch(directory, { persistent: false }, (type, name) => {
          if (this.#isOver || type !== "rename" || (name !== null && !names.has(name))) return;
          this.#watch();
          this.#check();
        });
        watcher.on("error", () => {});
        this.#watchers.push(watcher);
      } catch (error) {
        // A directory that does not exist appears in another one.
        if (!isGone(error)) areReported = false;
      }
    }
    this.#looking = setInterval(() => this.#check(), areReported ? LOOK_MS : UNREPORTED_LOOK_MS).unref();
  }

  /** The names in each directory that lead to a file. */
  #names(): ReadonlyMap<string, ReadonlySet<string>> {
    const names = new Map<string, Set<string>>();
    for (const { path, before } of this.#places) {
      for (const below of before.keys()) {
        for (let each = below; each !== "." && each !== ""; each = dirname(each)) {
          const directory = join(path, dirname(each));
          names.set(directory, (names.get(directory) ?? new Set()).add(basename(each)));
        }
      }
    }
    return names;
  }

  #lookSoon(): void {
    setImmediate(() => this.#check()).unref();
  }

  #check(): void {
    if (this.#isOver) return;
    for (const place of this.#places) {
      const changed = changedIn(place);
      if (changed === undefined) continue;
      this[Symbol.dispose]();
      this.#exposed = join(place.at, changed);
      this.#report();
      return;
    }
  }

  #report(): void {
    if (this.#exposed === undefined || this.#listener === undefined) return;
    this.#listener(this.#exposed);
    this.#listener = undefined;
  }

  #unwatch(): void {
    clearInterval(this.#looking);
    for (const watcher of this.#watchers.splice(0)) watcher.close();
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    this.#stopListening();
    this.#unwatch();
  }
}

function changedIn({ before, look }: WatchedPlace): string | undefined {
  try {
    const now = look();
    return [...now.keys()].find((path) => before.get(path) !== now.get(path));
  } catch {
    // An entry that can no longer be searched could contain any file.
    return [...before.keys()][0] ?? "";
  }
}

/** Maximum number of entries of a granted directory that are checked for hard links to guarded files. */
const MAX_ENTRIES = 50_000;

/**
 * The paths to cover in a granted directory before a program sees it. Paths are relative to the directory.
 */
export interface GuardedCover {
  /** The paths that are shown read-only. */
  readonly readOnly: readonly string[];
  /** The paths that are hidden. */
  readonly hidden: readonly { readonly path: string; readonly isFolder: boolean }[];
  /** The directories on the way: they must not be moved away. */
  readonly above: readonly string[];
  /** Guarded files that do not exist. */
  readonly missing: readonly string[];
  /** The identity of the entry at each guarded path, which changes if it is replaced. */
  readonly found: ReadonlyMap<string, string>;
}

const NOTHING: GuardedCover = { readOnly: [], hidden: [], above: [], missing: [], found: new Map() };

/** The access to the path that a grant names itself; `undefined` if it is not restricted. */
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

/** Whether a directory has guarded files in it, or is one. Their hard links are not looked for. */
export function isNearGuarded(directory: string): boolean {
  return Guard.current()?.isNear(directory) ?? false;
}

/**
 * Finds guarded files in a granted directory.
 *
 * @throws {DirectoryGrantError} if one of them could not be covered.
 */
export function coverOf(directory: string, isWritable: boolean): GuardedCover {
  const guard = Guard.current();
  if (guard === undefined) return NOTHING;
  const readOnly = new Set<string>();
  const hidden = new Map<string, boolean>();
  const above = new Set<string>();
  const missing = new Set<string>();
  const found = new Map<string, string>();
  const cover = (path: string, access: "none" | "read", stats: Stats): void => {
    if (access === "none") hidden.set(path, stats.isDirectory());
    else if (isWritable) readOnly.add(path);
    else return;
    found.set(path, `${stats.dev}:${stats.ino}`);
  };
  for (const place of guard.placesIn(directory)) {
    const path = relative(directory, place.path);
    if (place.ending !== undefined) {
      for (const file of filesWith(place, directory)) {
        const stats = entryAt(join(directory, file));
        if (stats !== undefined) cover(file, "none", stats);
      }
    }
    // The caller checks the directory itself.
    if (path === "" || path.startsWith("..")) continue;
    if (isWritable) for (const each of parentsOf(path)) if (entryAt(join(directory, each))) above.add(each);
    const stats = entryAt(place.path);
    if (stats?.isSymbolicLink() && isWritable)
      throw new DirectoryGrantError(
        `'${place.path}' is a link through which Sandgate reads a file of its own: grant a directory without it for writing`,
      );
    if (place.ending !== undefined || stats?.isSymbolicLink()) continue;
    if (stats !== undefined) cover(path, place.access, stats);
    else if (isWritable || place.access === "none") missing.add(path);
  }
  for (const { path, access, stats } of hardLinks(guard, directory, isWritable)) cover(path, access, stats);
  const covered = [...hidden.keys(), ...readOnly];
  const uncovered = [...missing].filter((path) => !isBelowAny(path, covered));
  for (const path of uncovered) found.set(path, "");
  return {
    readOnly: [...readOnly].filter((path) => !hidden.has(path)),
    hidden: Array.from(hidden, ([path, isFolder]) => ({ path, isFolder })),
    above: [...above].filter((path) => !hidden.has(path) && !readOnly.has(path)),
    missing: uncovered,
    found,
  };
}

/**
 * Refuses a grant whose own path is guarded: shown with less than it says, it would fail later, and nobody would know why.
 *
 * @throws {DirectoryGrantError} if a tool may not use the path as granted.
 */
export function refuseGuardedGrant(path: string, isWritable: boolean): void {
  const access = guardedAccess(path);
  if (access === "none")
    throw new DirectoryGrantError(
      `'${path}' holds keys or records of Sandgate itself, which no grant lets a tool reach`,
      "Permission denied: what this tool is granted holds keys or records of Sandgate itself. Ask the user to grant another place",
    );
  if (access === "read" && isWritable)
    throw new DirectoryGrantError(
      `'${path}' is code or configuration of Sandgate itself, or in a folder of it, which no tool may change: ` +
        "grant it without write, or grant a place outside",
      "Permission denied: what this tool is granted with write is code or configuration of Sandgate itself. Ask the user to grant " +
        "it without write, or to grant another place",
    );
}

/** Why a long-running program is not started. For operators. */
export function replaceableText(directory: string, path: string): string {
  return (
    `'${directory}' has one of Sandgate's own files, '${path}', which cannot be hidden from a program that stays once it is replaced or created: ` +
    "grant it without write, or grant another directory"
  );
}

/** Opens an entry of a granted directory, without following links. */
export function openCovered(directory: string, path: string): number {
  const whole = join(directory, path);
  const fd = openSync(whole, ENTRY_FLAGS);
  if (readlinkSync(fdPath(fd)) === whole && !fstatSync(fd).isSymbolicLink()) return fd;
  closeSync(fd);
  throw new DirectoryGrantError(`'${whole}' is reached through a link, and has one of Sandgate's own files`);
}

/**
 * @throws {DirectoryGrantError} if that cannot be determined: a program could have closed the directory to
 *   hide the entry.
 */
function entryAt(path: string): Stats | undefined {
  return lookingAt(path, () => lstatSync(path, { throwIfNoEntry: false }), undefined);
}

function lookingAt<Found>(path: string, look: () => Found, none: Found): Found {
  try {
    return look();
  } catch (error) {
    if (isGone(error)) return none;
    throw new DirectoryGrantError(`'${path}' cannot be searched for Sandgate's own files: ${String(error)}`);
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
): readonly { readonly path: string; readonly access: "none" | "read"; readonly stats: Stats }[] {
  const all = lookingAt(directory, () => guard.linked(), []);
  if (all === undefined)
    throw new DirectoryGrantError(
      `there are too many of Sandgate's own files to find those that have hard links in '${directory}': remove old ones`,
    );
  const linked = all.filter(({ access }) => isWritable || access === "none");
  if (linked.length === 0) return [];
  const found: { path: string; access: "none" | "read"; stats: Stats }[] = [];
  const waiting = [directory];
  let left = MAX_ENTRIES;
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    for (const entry of entriesOf(next)) {
      if (--left < 0)
        throw new DirectoryGrantError(
          `one of Sandgate's own files has several hard links, and '${directory}' has too many files to look for them: remove the other links`,
        );
      const path = join(next, entry.name);
      if (entry.isDirectory()) waiting.push(path);
      else if (entry.isFile()) {
        const stats = entryAt(path);
        const known = linked.find((each) => each.stats.dev === stats?.dev && each.stats.ino === stats.ino);
        if (stats !== undefined && known !== undefined)
          found.push({ path: relative(directory, path), access: known.access, stats });
      }
    }
  }
  return found;
}

function entriesOf(directory: string): readonly Dirent[] {
  return lookingAt(directory, () => readdirSync(directory, { withFileTypes: true }), []);
}
