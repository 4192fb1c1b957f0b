import { lstatSync, readdirSync, realpathSync, type Stats } from "node:fs";
import { basename, dirname, join } from "node:path";
import { type GuardedAccess, type GuardedFile, guardedFiles } from "../../base/guarded-files.ts";
import { isGone } from "../error.ts";
import { foldName } from "../protected-places.ts";
import { MountPoints } from "./mount-points.ts";

/** A guarded file at one of its paths. */
export interface GuardedPlace {
  /** Without links, as far as it exists. */
  readonly path: string;
  readonly access: GuardedAccess;
  readonly isFolder: boolean;
  readonly ending: string | undefined;
  /** The path that was named to `guardFiles`. */
  readonly named: string;
}

interface FoldedPlace {
  readonly place: GuardedPlace;
  readonly path: string;
}

/** How long paths are taken for known, in milliseconds: links and mounts can change meanwhile. */
const KNOWN_MS = 1_000;

/** How many files of guarded folders are looked at for hard links. */
const MAX_LOOKED_AT = 10_000;

let current: { readonly files: readonly GuardedFile[]; readonly until: number; guard: Guard } | undefined;

/** How many granted directories are known to be far from guarded files. */
const MAX_KNOWN = 1_000;

/** Finds out whether an entry of a granted directory is one that no tool may change, or read. */
export class Guard {
  readonly places: readonly GuardedPlace[];
  readonly #folded: readonly FoldedPlace[];
  /** By their folded paths. */
  readonly #byPath = new Map<string, readonly FoldedPlace[]>();
  /** The folded paths of the directories in which they are. */
  readonly #above = new Set<string>();
  readonly #near = new Map<string, boolean>();

  /** The guard of the files that are guarded now; `undefined` if there are none. */
  static current(): Guard | undefined {
    const files = guardedFiles();
    if (files.length === 0) return undefined;
    const now = performance.now();
    if (current === undefined || current.files !== files || now > current.until) {
      current = { files, until: now + KNOWN_MS, guard: new Guard(files) };
    }
    return current.guard;
  }

  constructor(files: readonly GuardedFile[], mounts: MountPoints = new MountPoints()) {
    this.places = files.flatMap(({ path: named, access = "none", isFolder = false, ending }) => {
      const real = realPathOf(named);
      const paths = new Set([named, real, ...mounts.aliasesOf(real)]);
      return [...paths].map((path) => ({ path, access, isFolder, ending, named }));
    });
    this.#folded = this.places.map((place) => ({ place, path: foldPath(place.path) }));
    for (const folded of this.#folded) {
      this.#byPath.set(folded.path, [...(this.#byPath.get(folded.path) ?? []), folded]);
      for (const above of foldersAbove(folded.path)) this.#above.add(above);
    }
  }

  /** What may be done with what is at a path; `undefined` if it is not guarded. */
  accessTo(path: string): GuardedAccess | undefined {
    let found: GuardedAccess | undefined;
    const folded = foldPath(path);
    for (const each of [folded, ...foldersAbove(folded)]) {
      for (const { place, path: guarded } of this.#byPath.get(each) ?? []) {
        if (!covers(place, guarded, folded)) continue;
        if (place.access === "none") return "none";
        found = "read";
      }
    }
    return found;
  }

  /** Whether a path leads to a guarded file: moved away, the file would not be found where it is expected. */
  isAbove(path: string): boolean {
    return this.#above.has(foldPath(path));
  }

  /**
   * Whether a directory has guarded files in it or below it, or is in a guarded folder. If not, its files can be guarded
   * ones only by a hard link.
   */
  isNear(directory: string): boolean {
    const known = this.#near.get(directory);
    if (known !== undefined) return known;
    if (this.#near.size === MAX_KNOWN) this.#near.clear();
    const isNear = this.isAbove(directory) || this.placesIn(directory).length > 0;
    this.#near.set(directory, isNear);
    return isNear;
  }

  /** Returns the guarded files in a directory or below it, and those that hold the directory itself. */
  placesIn(directory: string): readonly GuardedPlace[] {
    const folded = foldPath(directory);
    const start = folded === "/" ? "/" : `${folded}/`;
    return this.#folded
      .filter(({ place, path }) => path === folded || path.startsWith(start) || covers(place, path, folded))
      .map(({ place }) => place);
  }

  /**
   * What may be done with a file that has several hard links, of which one can be a guarded one: nothing, if there are too
   * many guarded files to find out.
   */
  accessByLink({ dev, ino }: Pick<Stats, "dev" | "ino">): GuardedAccess | undefined {
    const linked = this.linked();
    if (linked === undefined) return "none";
    const accesses = linked
      .filter(({ stats }) => stats.dev === dev && stats.ino === ino)
      .map(({ access }) => access);
    return accesses.find((access) => access === "none") ?? accesses[0];
  }

  /** Returns the guarded files that have several hard links; `undefined` if there are too many guarded files to look at. */
  linked(): readonly { readonly stats: Stats; readonly access: GuardedAccess }[] | undefined {
    const found: { stats: Stats; access: GuardedAccess }[] = [];
    let left = MAX_LOOKED_AT;
    for (const place of this.places) {
      for (const path of place.isFolder ? filesIn(place.path) : [place.path]) {
        if (place.ending !== undefined && !path.endsWith(place.ending)) continue;
        if (--left < 0) return undefined;
        const stats = statOf(path);
        if (stats?.isFile() && stats.nlink > 1) found.push({ stats, access: place.access });
      }
    }
    return found;
  }
}

function covers({ isFolder, ending }: GuardedPlace, guarded: string, path: string): boolean {
  if (ending !== undefined) return path.startsWith(`${guarded}/`) && path.endsWith(ending.toLowerCase());
  return path === guarded || (isFolder && path.startsWith(guarded === "/" ? "/" : `${guarded}/`));
}

/** Returns the directories on the way to a path, the root included. */
function foldersAbove(path: string): readonly string[] {
  const folders: string[] = [];
  for (let end = path.lastIndexOf("/"); end > 0; end = path.lastIndexOf("/", end - 1))
    folders.push(path.slice(0, end));
  return path === "/" ? [] : [...folders, "/"];
}

function filesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => join(folder, name));
  } catch (error) {
    if (isGone(error)) return [];
    throw error;
  }
}

function statOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}

/** Follows the links on the way, as far as there is something. */
function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(realPathOf(parent), basename(path));
  }
}

const PLAIN = /^[ -~]*$/;

/** Folds a path as file systems do that do not tell letters of another case apart. */
function foldPath(path: string): string {
  return PLAIN.test(path) ? path.toLowerCase() : path.split("/").map(foldName).join("/");
}
