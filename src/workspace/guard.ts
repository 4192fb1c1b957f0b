import { lstatSync, readdirSync, readFileSync, readlinkSync, type Stats } from "node:fs";
import { join, resolve } from "node:path";
import { type GuardedAccess, type GuardedFile, guardedFiles } from "../base/guarded-files.ts";
import { isGone } from "./error.ts";
import { foldName } from "./protected-places.ts";

/** A guarded file at one of its paths. */
export interface GuardedPlace {
  /** Without links, as far as it exists; or that of a link on the way to the file. */
  readonly path: string;
  readonly access: GuardedAccess;
  readonly isFolder: boolean;
  readonly ending: string | undefined;
  /** The path that was named to `guardFiles`. */
  readonly named: string;
}

/** A guarded file that has several hard links. */
interface LinkedFile {
  readonly stats: Stats;
  readonly access: GuardedAccess;
}

interface FoldedPlace {
  readonly place: GuardedPlace;
  readonly path: string;
}

/** How long paths and hard links are cached, in milliseconds: they can change meanwhile. */
const KNOWN_MS = 1_000;

/** Maximum number of files of guarded folders that are searched for hard links. */
const MAX_LOOKED_AT = 10_000;

let current: { readonly files: readonly GuardedFile[]; readonly until: number; guard: Guard } | undefined;

/** Folders of packages, whose files package managers link to their stores. */
const PACKAGES = /\/node_modules(?:\/|$)/;

/** Maximum number of cached results of {@link Guard.isNear}. */
const MAX_KNOWN = 1_000;

/** Decides whether tools may change or read an entry of a granted directory. */
export class Guard {
  readonly places: readonly GuardedPlace[];
  readonly #folded: readonly FoldedPlace[];
  /** By their folded paths. */
  readonly #byPath = new Map<string, readonly FoldedPlace[]>();
  /** The folded paths of the directories in which they are. */
  readonly #above = new Set<string>();
  readonly #near = new Map<string, boolean>();
  #linked: { readonly files: readonly LinkedFile[] | undefined } | undefined;

  /** The guard of the files that are currently guarded; `undefined` if there are none. */
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
    const known = new Map<string, string | undefined>();
    this.places = files.flatMap(({ path: named, access = "none", isFolder = false, ending }) => {
      const { real, links } = followed(named, known);
      const paths = new Set([named, real, ...mounts.aliasesOf(real)]);
      return [
        ...[...paths].map((path) => ({ path, access, isFolder, ending, named })),
        // Replacing a link on the way would choose another file.
        ...links
          .filter((path) => !paths.has(path))
          .map((path) => ({ path, access: "read" as const, isFolder: false, ending: undefined, named })),
      ];
    });
    this.#folded = this.places.map((place) => ({ place, path: foldPath(place.path) }));
    for (const folded of this.#folded) {
      this.#byPath.set(folded.path, [...(this.#byPath.get(folded.path) ?? []), folded]);
      for (const above of foldersAbove(folded.path)) this.#above.add(above);
    }
  }

  /** The access to the entry at a path; `undefined` if it is not guarded. */
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

  /**
   * Whether a path leads to a guarded file: if it were moved away, the file would not be found at its path.
   */
  isAbove(path: string): boolean {
    return this.#above.has(foldPath(path));
  }

  /**
   * Whether a directory has guarded files in it or below it, or is in a guarded folder. Otherwise, its files
   * are only guarded if they are hard links to guarded ones.
   */
  isNear(directory: string): boolean {
    const known = this.#near.get(directory);
    if (known !== undefined) return known;
    if (this.#near.size === MAX_KNOWN) this.#near.clear();
    const isNear = this.isAbove(directory) || this.placesIn(directory).length > 0;
    this.#near.set(directory, isNear);
    return isNear;
  }

  /**
   * Returns the guarded files in a directory or below it, and the guarded folders that contain the directory.
   */
  placesIn(directory: string): readonly GuardedPlace[] {
    const folded = foldPath(directory);
    const start = folded === "/" ? "/" : `${folded}/`;
    return this.#folded
      .filter(({ place, path }) => path === folded || path.startsWith(start) || covers(place, path, folded))
      .map(({ place }) => place);
  }

  /**
   * The access to a file with several hard links, one of which can be a guarded file: none if there are too
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

  /**
   * Returns the guarded files that had several hard links at the first request, except those of packages;
   * `undefined` if there are too many guarded files to check.
   */
  linked(): readonly LinkedFile[] | undefined {
    this.#linked ??= { files: linkedIn(this.places) };
    return this.#linked.files;
  }
}

function linkedIn(places: readonly GuardedPlace[]): readonly LinkedFile[] | undefined {
  const found: LinkedFile[] = [];
  let left = MAX_LOOKED_AT;
  for (const place of places) {
    if (place.isFolder && PACKAGES.test(place.path)) continue;
    for (const path of place.isFolder ? filesIn(place.path) : [place.path]) {
      if (place.ending !== undefined && !path.endsWith(place.ending)) continue;
      if (--left < 0) return undefined;
      const stats = statOf(path);
      if (stats?.isFile() && stats.nlink > 1) found.push({ stats, access: place.access });
    }
  }
  return found;
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

/** How many links the kernel follows in a path: path_resolution(7). */
const MAX_LINKS = 40;

/**
 * Follows the links of a path, as far as it exists. Returns where each of them is, without the links before
 * it.
 *
 * @param known Cached targets of links; `undefined` for paths that are not links.
 */
function followed(
  path: string,
  known: Map<string, string | undefined>,
): { readonly real: string; readonly links: readonly string[] } {
  const links: string[] = [];
  let left = path.split("/");
  let real = "/";
  for (let name = left.shift(); name !== undefined; name = left.shift()) {
    const next = resolve(real, name);
    if (!known.has(next)) known.set(next, targetOf(next));
    const target = links.length < MAX_LINKS ? known.get(next) : undefined;
    if (target === undefined) {
      real = next;
      continue;
    }
    links.push(next);
    if (target.startsWith("/")) real = "/";
    left = [...target.split("/"), ...left];
  }
  return { real, links };
}

/** Returns where a link leads; `undefined` if there is none. */
function targetOf(path: string): string | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ? readlinkSync(path) : undefined;
  } catch {
    return undefined;
  }
}

const PLAIN = /^[ -~]*$/;

/** Folds the case of a path like a case-insensitive file system. */
function foldPath(path: string): string {
  return PLAIN.test(path) ? path.toLowerCase() : path.split("/").map(foldName).join("/");
}

interface MountPoint {
  readonly device: string;
  /** The path in the file system that is mounted at {@link at}. */
  readonly root: string;
  readonly at: string;
}

/** The mounts of this process, by which a file can have several paths: proc_pid_mountinfo(5). */
export class MountPoints {
  readonly #mounts: readonly MountPoint[];

  /** @param text The text of `mountinfo`. Default: that of this process. */
  constructor(text: string = readMounts()) {
    this.#mounts = text.split("\n").flatMap((line): readonly MountPoint[] => {
      const [, , device, root, at] = line.split(" ");
      return device === undefined || root === undefined || at === undefined
        ? []
        : [{ device, root: unescaped(root), at: unescaped(at) }];
    });
  }

  /**
   * Returns the other paths of the entry at a path, or of a part of it.
   *
   * @param path An absolute path without links. Need not exist.
   */
  aliasesOf(path: string): readonly string[] {
    // Of two mounts at one place, the later one is visible.
    const own = this.#mounts.reduce<MountPoint | undefined>(
      (best, mount) =>
        below(path, mount.at) !== undefined && mount.at.length >= (best?.at.length ?? 0) ? mount : best,
      undefined,
    );
    if (own === undefined) return [];
    const inside = join(own.root, below(path, own.at) ?? "");
    const aliases = this.#mounts.flatMap(({ device, root, at }) => {
      if (device !== own.device) return [];
      const rest = below(inside, root);
      if (rest !== undefined) return [join(at, rest)];
      // A part of a folder is mounted elsewhere.
      return below(root, inside) === undefined ? [] : [at];
    });
    return [...new Set(aliases)].filter((alias) => alias !== path);
  }
}

function readMounts(): string {
  try {
    return readFileSync("/proc/self/mountinfo", "utf8");
  } catch {
    return "";
  }
}

function unescaped(path: string): string {
  return path.replace(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}

/**
 * Returns a path relative to a directory that contains it, `""` for the directory itself; `undefined` if it
 * is outside.
 */
function below(path: string, directory: string): string | undefined {
  if (path === directory) return "";
  const start = directory === "/" ? "/" : `${directory}/`;
  return path.startsWith(start) ? path.slice(start.length) : undefined;
}
