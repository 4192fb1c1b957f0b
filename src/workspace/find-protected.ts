import { type BigIntStats, closeSync, type Dirent, fstatSync, opendirSync, openSync } from "node:fs";
import type { QueueOwner } from "../base/fair-queue.ts";
import { SlicedWork, Turnstile } from "../base/turns.ts";
import { isGone } from "./error.ts";
import { type ProtectionGrant, unopenedPlace } from "./granted-protected.ts";
import { DIRECTORY_FLAGS, ENTRY_FLAGS, entryPath, fdPath } from "./paths/fd-path.ts";
import { isNewVersion, isRepositoryFolder } from "./protected-places.ts";
import { DirectoryGrantError } from "./root.ts";

/** How many directories are searched at most, and how many places found. */
const MAX_DIRECTORIES = 200;
const MAX_PLACES = 200;

/** How many entries are read, and looked at, before others may have a turn. */
const ENTRIES_AT_ONCE = 64;

/** Directories of packages, which can be many; what is in them is not the user's. */
const UNSEARCHED = "node_modules";

/** What makes a folder a repository that git takes for one, and tells git what to run. */
const RUN_BY_GIT = ["HEAD", "config", "config.worktree", "hooks", "commondir", "modules", "worktrees"];

/** Folders of a repository which can be many, and which hold no work tree. */
const OF_GIT = ["objects", "refs", "logs", "lfs"];

/** A protected place that exists, or the directory in which such places are. */
export interface FoundPlace {
  /** Relative to the granted directory. */
  readonly path: string;
  /** The open entry. Who searched closes it. */
  readonly fd: number;
  readonly kind: "file" | "directory" | "link";
  /** Whether it is only the beginning of protected places, such as `.git`. Its other contents may be changed. */
  readonly isBeginning: boolean;
  /** Differs between two entries, even if one has taken the path of the other. */
  readonly identity: string;
  /** Identifies the directory that the entry is in. */
  readonly parent: string;
  /** When its contents or its name were last changed, in nanoseconds since the epoch. */
  readonly changedAt: bigint;
}

/** What a search found. */
export interface FoundPlaces {
  readonly places: readonly FoundPlace[];
  /** Whether everything was searched: there were neither too many directories nor too many places. */
  readonly isComplete: boolean;
  /** When the search began, in ms since the epoch. */
  readonly since: number;
}

/**
 * Finds protected places below a granted directory: in it, and in the first 200 directories below it, level by level. No
 * link is followed. New versions of files that are being written are left out: a mount at a place that is gone by then would
 * leave an empty file there. A long search takes turns with other work of this process.
 *
 * @param fd The open granted directory.
 * @param grant Its names are those of the open directory.
 * @param options.owner For whom it is searched. Default: it is not known.
 * @param options.maxDirectories How many directories are searched. Default: 200.
 * @param options.onUnsearched Receives the path of each entry that cannot be searched, although programs of this user can
 *   change it or what is in it. Default: an error is thrown, since it could have protected places.
 * @throws {DirectoryGrantError} if an entry cannot be searched.
 */
export function findProtected(
  fd: number,
  grant: ProtectionGrant,
  options: SearchOptions = {},
): Promise<FoundPlaces> {
  return searches.run(options.owner ?? {}, () => search(fd, grant, options));
}

interface SearchOptions {
  readonly owner?: QueueOwner;
  readonly maxDirectories?: number;
  readonly onUnsearched?: (path: string, error: unknown) => void;
}

/** A search has many open directories, so there is one at a time. */
const searches = new Turnstile();

async function search(
  fd: number,
  grant: ProtectionGrant,
  { owner = {}, maxDirectories = MAX_DIRECTORIES, onUnsearched = refuseUnsearched }: SearchOptions,
): Promise<FoundPlaces> {
  const since = Date.now();
  const { named } = grant;
  const work = new SlicedWork(owner);
  const found: FoundPlace[] = [];
  let isComplete = true;
  const waiting: { readonly fd: number; readonly names: readonly string[] }[] = [{ fd, names: [] }];
  const tried = <Value>(names: readonly string[], look: () => Value | undefined): Value | undefined => {
    try {
      return look();
    } catch (error) {
      onUnsearched(names.join("/"), error);
      return undefined;
    }
  };
  try {
    await work.next();
    for (let searched = 0; searched < waiting.length && searched < maxDirectories; searched++) {
      const { fd: parent, names } = waiting[searched] as (typeof waiting)[number];
      const entries = await entriesOf(parent, work).catch((error: unknown) => {
        onUnsearched(names.join("/"), error);
        return [];
      });
      const isRepository =
        grant.writesProtected !== true && isRepositoryFolder(entries.map(({ name }) => name));
      for (const [index, entry] of entries.entries()) {
        if (index % ENTRIES_AT_ONCE === 0) await work.next();
        if (isNewVersion(entry.name)) continue;
        const path = [...names, entry.name];
        const whole = [...named, ...path];
        const isPlace =
          unopenedPlace(whole, grant, false) !== undefined ||
          (isRepository && names.at(-1) !== ".git" && RUN_BY_GIT.includes(entry.name));
        if (isPlace || unopenedPlace(whole, grant, true) !== undefined) {
          if (found.length === MAX_PLACES) {
            isComplete = false;
            break;
          }
          const isBeginning = !isPlace && entry.isDirectory();
          const place = tried(path, () => open(parent, entry, path.join("/"), isBeginning));
          if (place !== undefined) found.push(place);
        }
        if (isPlace || !entry.isDirectory() || entry.name === UNSEARCHED) continue;
        if (isRepository && OF_GIT.includes(entry.name)) continue;
        if (waiting.length >= maxDirectories) {
          isComplete = false;
          continue;
        }
        const next = tried(path, () => openIfThere(parent, entry.name, DIRECTORY_FLAGS));
        if (next !== undefined) waiting.push({ fd: next, names: path });
      }
    }
    return { places: found, isComplete, since };
  } catch (error) {
    for (const place of found) closeSync(place.fd);
    throw error;
  } finally {
    for (const { fd: opened } of waiting.slice(1)) closeSync(opened);
  }
}

function refuseUnsearched(path: string, error: unknown): never {
  throw new DirectoryGrantError(
    `'${path || "."}' in the granted directory cannot be searched for what other programs run or follow: ${String(error)}`,
  );
}

async function entriesOf(directory: number, work: SlicedWork): Promise<readonly Dirent[]> {
  try {
    const reader = opendirSync(fdPath(directory), { bufferSize: ENTRIES_AT_ONCE });
    try {
      const entries: Dirent[] = [];
      for (let entry = reader.readSync(); entry !== null; entry = reader.readSync()) {
        entries.push(entry);
        if (entries.length % ENTRIES_AT_ONCE === 0) await work.next();
      }
      return entries;
    } finally {
      reader.closeSync();
    }
  } catch (error) {
    if (isGone(error) || isClosedToPrograms(directory)) return [];
    throw error;
  }
}

/** Whether a directory is another user's, and nothing in it can be reached. A program could open its own user's again. */
function isClosedToPrograms(directory: number): boolean {
  if (fstatSync(directory).uid === process.geteuid?.()) return false;
  try {
    closeSync(openSync(entryPath(directory, "."), DIRECTORY_FLAGS));
    return false;
  } catch {
    return true;
  }
}

function open(parent: number, entry: Dirent, path: string, isBeginning: boolean): FoundPlace | undefined {
  const fd = openIfThere(parent, entry.name, ENTRY_FLAGS);
  if (fd === undefined) return undefined;
  const stat = statOf(fd);
  const kind = stat.isSymbolicLink() ? "link" : stat.isDirectory() ? "directory" : "file";
  return {
    path,
    fd,
    kind,
    isBeginning,
    identity: identityOf(stat),
    parent: identityOf(statOf(parent)),
    changedAt: stat.ctimeNs,
  };
}

function statOf(fd: number): BigIntStats {
  return fstatSync(fd, { bigint: true });
}

function identityOf({ dev, ino, birthtimeNs }: BigIntStats): string {
  return `${dev}:${ino}:${birthtimeNs}`;
}

function openIfThere(parent: number, name: string, flags: number): number | undefined {
  try {
    return openSync(entryPath(parent, name), flags);
  } catch (error) {
    if (isGone(error) || isClosedToPrograms(parent)) return undefined;
    throw error;
  }
}
