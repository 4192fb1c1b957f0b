import {
  closeSync,
  type Dir,
  type Dirent,
  fstatSync,
  lstatSync,
  opendirSync,
  openSync,
  type Stats,
} from "node:fs";
import { setImmediate } from "node:timers/promises";
import type { FileChange } from "../tool/changes.ts";
import { isGone } from "./error.ts";
import { DIRECTORY_FLAGS, entryPath, fdPath } from "./paths.ts";

/** The bounds of a snapshot. Beyond them, it is incomplete, and useless. */
export interface SnapshotBounds {
  /** Default: 50,000 files and directories. */
  readonly entries?: number;
  /** Default: 2,000 milliseconds. */
  readonly timeMs?: number;
}

const MAX_ENTRIES = 50_000;
const MAX_TIME_MS = 2_000;
const MAX_DEPTH = 128;

/** How many entries are read in a turn of the event loop. */
const ENTRIES_PER_TURN = 256;

/** The files that most commands of git write. Its other files are ignored. */
const GIT_FILES = ["HEAD", "index", "packed-refs", "logs/HEAD", "config", "config.worktree", "commondir"];

/** Folders of git whose files count: they say what git runs. */
const GIT_FOLDERS = ["hooks", "info"];

/** A directory or a file to scan. */
export interface SnapshotPlace {
  /** Open, at least without its contents. */
  readonly fd: number;
  readonly isDirectory: boolean;
  /** Returns the path under which a change is reported. */
  readonly shownAs: (path: string) => string;
}

/** A snapshot could not be completed. `message` says why. */
export class SnapshotError extends Error {
  override readonly name = "SnapshotError";
}

/**
 * The files below directories, each by its size, its times and its inode. The difference of two snapshots
 * shows what a program changed. Contents are not read, and no link is followed. A directory `.git` counts as
 * one file, apart from what git runs there. An empty directory is listed with `/` at the end of its path.
 */
export class DirectorySnapshot {
  readonly #files = new Map<string, { readonly state: string; readonly bytes: number }>();
  readonly #directories = new Set<string>();
  readonly #maxEntries: number;
  readonly #until: number;
  #entries = 0;

  /**
   * Scans all places, yielding to the event loop.
   *
   * @throws {SnapshotError} as a rejection, if there are too many entries, or a directory cannot be read.
   */
  static async take(
    places: readonly SnapshotPlace[],
    bounds: SnapshotBounds = {},
  ): Promise<DirectorySnapshot> {
    const snapshot = new DirectorySnapshot(bounds);
    for (const { fd, isDirectory, shownAs } of places) {
      if (isDirectory) await snapshot.#scan(fd, [], shownAs);
      else snapshot.#add(shownAs(""), fstatSync(fd));
    }
    return snapshot;
  }

  private constructor({ entries = MAX_ENTRIES, timeMs = MAX_TIME_MS }: SnapshotBounds) {
    this.#maxEntries = entries;
    this.#until = performance.now() + timeMs;
  }

  /** Returns the changes between this snapshot and a later one of the same places. */
  changesTo(later: DirectorySnapshot): readonly FileChange[] {
    const changes: FileChange[] = [];
    for (const [path, { state, bytes }] of later.#files) {
      const before = this.#files.get(path);
      if (before?.state === state) continue;
      changes.push({ path, change: before === undefined ? "created" : "modified", bytes });
    }
    for (const path of this.#files.keys()) {
      if (!later.#files.has(path)) changes.push({ path, change: "deleted", bytes: 0 });
    }
    return [
      ...changes,
      ...emptyOnes(later.#directories, this.#directories, "created", changes),
      ...emptyOnes(this.#directories, later.#directories, "deleted", changes),
    ];
  }

  async #scan(directory: number, names: readonly string[], shownAs: SnapshotPlace["shownAs"]): Promise<void> {
    if (names.length > MAX_DEPTH) throw new SnapshotError(`directories are more than ${MAX_DEPTH} deep`);
    for (const entry of entriesOf(directory)) {
      await this.#count();
      const path = [...names, entry.name];
      if (!entry.isDirectory()) {
        const stats = lstatSync(entryPath(directory, entry.name), { throwIfNoEntry: false });
        if (stats !== undefined) this.#add(shownAs(path.join("/")), stats);
        continue;
      }
      const fd = open(directory, entry.name);
      if (fd === undefined) continue;
      try {
        if (entry.name === ".git") await this.#addGit(path, fd, shownAs);
        else {
          this.#directories.add(shownAs(`${path.join("/")}/`));
          await this.#scan(fd, path, shownAs);
        }
      } finally {
        closeSync(fd);
      }
    }
  }

  async #count(): Promise<void> {
    if (++this.#entries > this.#maxEntries) {
      throw new SnapshotError(`there are more than ${this.#maxEntries} files and directories`);
    }
    if (this.#entries % ENTRIES_PER_TURN !== 0) return;
    await setImmediate();
    if (performance.now() > this.#until) throw new SnapshotError("it took too long to look at all files");
  }

  #add(path: string, stats: Stats): void {
    this.#files.set(path, { state: stateOf(stats), bytes: stats.size });
  }

  async #addGit(names: readonly string[], fd: number, shownAs: SnapshotPlace["shownAs"]): Promise<void> {
    const states = GIT_FILES.map((name) => {
      const stats = lstatSync(entryPath(fd, name), { throwIfNoEntry: false });
      return stats === undefined ? "" : stateOf(stats);
    });
    this.#files.set(shownAs(`${names.join("/")}/`), { state: states.join(), bytes: 0 });
    for (const name of GIT_FOLDERS) {
      const folder = open(fd, name);
      if (folder === undefined) continue;
      try {
        this.#directories.add(shownAs(`${[...names, name].join("/")}/`));
        await this.#scan(folder, [...names, name], shownAs);
      } finally {
        closeSync(folder);
      }
    }
  }
}

/** Returns the directories that are only in one snapshot, and contain no other entry with the same change. */
function emptyOnes(
  here: ReadonlySet<string>,
  there: ReadonlySet<string>,
  change: "created" | "deleted",
  changes: readonly FileChange[],
): readonly FileChange[] {
  const only = [...here].filter((path) => !there.has(path)).map((path) => ({ path, change, bytes: 0 }));
  if (only.length === 0) return [];
  const parents = new Set<string>();
  for (const { path } of [...only, ...changes.filter((each) => each.change === change)]) {
    for (let end = path.lastIndexOf("/", path.length - 2); end > 0; end = path.lastIndexOf("/", end - 1))
      parents.add(path.slice(0, end + 1));
  }
  return only.filter(({ path }) => !parents.has(path));
}

function stateOf({ size, mtimeMs, ctimeMs, ino, mode }: Stats): string {
  return `${size} ${mtimeMs} ${ctimeMs} ${ino} ${mode}`;
}

/** Reads a directory on demand: it can have more entries than fit into memory. */
function* entriesOf(directory: number): Generator<Dirent> {
  let listing: Dir | undefined;
  try {
    listing = opendirSync(fdPath(directory));
    for (let entry = listing.readSync(); entry !== null; entry = listing.readSync()) yield entry;
  } catch (error) {
    if (error instanceof SnapshotError) throw error;
    throw new SnapshotError(`a directory cannot be read: ${(error as NodeJS.ErrnoException).code}`);
  } finally {
    listing?.closeSync();
  }
}

/**
 * Returns `undefined` if the directory was removed or replaced meanwhile.
 *
 * @throws {SnapshotError} if it cannot be opened for another reason: its entries would count as deleted.
 */
function open(parent: number, name: string): number | undefined {
  try {
    return openSync(entryPath(parent, name), DIRECTORY_FLAGS);
  } catch (error) {
    if (isGone(error)) return undefined;
    throw new SnapshotError(`a directory cannot be read: ${(error as NodeJS.ErrnoException).code}`);
  }
}
