import {
  type BigIntStats,
  closeSync,
  type Dirent,
  fstatSync,
  lstatSync,
  opendirSync,
  openSync,
} from "node:fs";
import type { QueueOwner } from "../base/fair-queue.ts";
import { SlicedWork, Turnstile } from "../base/turns.ts";
import { isGone } from "./error.ts";
import { type ProtectionGrant, unopenedPlace } from "./granted-protected.ts";
import { DIRECTORY_FLAGS, ENTRY_FLAGS, entryPath, fdPath } from "./paths.ts";
import { isNewVersion, isRepositoryFolder, isRunByGit } from "./protected-places.ts";
import { DirectoryGrantError } from "./root.ts";

/** Maximum number of directories to search, not counting beginnings of places. */
const MAX_DIRECTORIES = 200;

/** Maximum number of places and of beginnings of places, if they stay open. */
const MAX_OPEN = { places: 200, beginnings: 200 };

const MAX_CLOSED = { places: 10_000, beginnings: 1_000 };

/** How many entries are read before other searches get a turn. */
const ENTRIES_AT_ONCE = 64;

/** Packages: they can have many entries, which are not the user's own files. */
const UNSEARCHED = "node_modules";

/** Folders of a repository which can have many entries, and never contain a work tree. */
const OF_GIT = ["objects", "refs", "logs", "lfs"];

/** A protected place that exists, or the directory in which such places are. */
export interface FoundPlace {
  /** Relative to the granted directory. */
  readonly path: string;
  readonly kind: "file" | "directory" | "link";
  /** Whether it is only the beginning of protected places, such as `.git`. Its other contents may be changed. */
  readonly isBeginning: boolean;
  /** Differs between two entries, even if one has taken the path of the other. */
  readonly identity: string;
  /** Identifies the directory that the entry is in. */
  readonly parent: string;
  /**
   * When its contents or its name were last changed, in nanoseconds since the epoch; or those of the
   * directories that make it a protected place: one of them can have been renamed.
   */
  readonly changedAt: bigint;
}

/** An open place, which the caller of the search closes. */
export interface OpenPlace extends FoundPlace {
  readonly fd: number;
}

/** The result of a search. */
export interface FoundPlaces<Place extends FoundPlace = FoundPlace> {
  readonly places: readonly Place[];
  /** Whether everything was searched: there were neither too many directories nor too many places. */
  readonly isComplete: boolean;
  /** When the search began, in ms since the epoch. */
  readonly since: number;
}

/**
 * Finds protected places below a granted directory: in it, and in the first 200 directories below it, level
 * by level; see {@link SearchOrder}. No link is followed. New versions of files that are being written are
 * left out: by the time of a mount they are gone, and it would leave an empty file. A long search takes turns
 * with other work of this process.
 *
 * @param fd The open granted directory.
 * @param grant Its names are those of the open directory.
 * @param options.owner The owner of the search. Default: unknown.
 * @throws {DirectoryGrantError} if an entry cannot be searched, although programs of this user can change it
 *   or what is in it: it could have protected places.
 */
export async function findProtected(
  fd: number,
  grant: ProtectionGrant,
  { owner = {}, maxDirectories = MAX_DIRECTORIES }: FindOptions = {},
): Promise<FoundPlaces<OpenPlace>> {
  const opened: OpenPlace[] = [];
  const onFound = (place: OpenPlace): void => void opened.push(place);
  const settings = { owner, maxDirectories, most: MAX_OPEN, onFound, onUnsearched: refuseUnsearched };
  try {
    const found = await searches.run(owner, () => search(fd, grant, settings));
    return { ...found, places: opened };
  } catch (error) {
    for (const place of opened) closeSync(place.fd);
    throw error;
  }
}

/**
 * Finds protected places like {@link findProtected}, without opening them.
 *
 * @param options.onUnsearched Receives the path of each entry that cannot be searched.
 */
export async function listProtected(
  fd: number,
  grant: ProtectionGrant,
  { owner = {}, maxDirectories = MAX_DIRECTORIES, onUnsearched }: ListOptions,
): Promise<FoundPlaces> {
  const places: FoundPlace[] = [];
  const onFound = ({ fd: opened, ...place }: OpenPlace): void => {
    closeSync(opened);
    places.push(place);
  };
  const settings = { owner, maxDirectories, most: MAX_CLOSED, onFound, onUnsearched };
  const found = await searches.run(owner, () => search(fd, grant, settings));
  return { ...found, places };
}

interface FindOptions {
  readonly owner?: QueueOwner;
  readonly maxDirectories?: number;
}

interface ListOptions extends FindOptions {
  readonly onUnsearched: (path: string, error: unknown) => void;
}

interface SearchSettings extends Required<ListOptions> {
  readonly most: typeof MAX_OPEN;
  readonly onFound: (place: OpenPlace) => void;
}

/** A search has many open directories, so there is one at a time. */
const searches = new Turnstile();

async function search(
  fd: number,
  grant: ProtectionGrant,
  { owner, maxDirectories, most, onFound, onUnsearched }: SearchSettings,
): Promise<Omit<FoundPlaces, "places">> {
  const since = Date.now();
  const { named } = grant;
  const work = new SlicedWork(owner);
  const left = { ...most };
  using order = new SearchOrder({ fd, names: [], changedAt: 0n }, maxDirectories);
  const tried = <Value>(names: readonly string[], look: () => Value | undefined): Value | undefined => {
    try {
      return look();
    } catch (error) {
      onUnsearched(names.join("/"), error);
      return undefined;
    }
  };
  await work.next();
  for (let next = order.next(); next !== undefined; next = order.next()) {
    const { fd: parent, names, changedAt } = next;
    const entries = await entriesOf(parent, work).catch((error: unknown) => {
      onUnsearched(names.join("/"), error);
      return [];
    });
    const isRepository =
      grant.writesProtected !== true &&
      isRepositoryFolder((name) => entries.some((entry) => entry.name === name));
    const madeSince = isRepository ? latest(changedAt, statOf(parent).ctimeNs) : changedAt;
    const children: string[] = [];
    const openChild = (name: string, beganAt = 0n): WaitingDirectory | undefined => {
      const path = [...names, name];
      const opened = tried(path, () => openIfThere(parent, name, DIRECTORY_FLAGS));
      return opened === undefined ? undefined : { fd: opened, names: path, changedAt: beganAt };
    };
    for (const [index, entry] of entries.entries()) {
      if (index % ENTRIES_AT_ONCE === 0) await work.next();
      if (isNewVersion(entry.name)) continue;
      const path = [...names, entry.name];
      const whole = [...named, ...path];
      const isPlace =
        unopenedPlace(whole, grant, false) !== undefined ||
        (isRepository && isRunByGit(entry.name, names.at(-1)));
      let place: OpenPlace | undefined;
      if (isPlace || unopenedPlace(whole, grant, true) !== undefined) {
        const isBeginning = !isPlace && entry.isDirectory();
        if (left[isBeginning ? "beginnings" : "places"]-- > 0)
          place = tried(path, () => open(parent, entry, path.join("/"), isBeginning, madeSince));
        else order.isComplete = false;
        if (place !== undefined) onFound(place);
      }
      if (isPlace || !entry.isDirectory() || entry.name === UNSEARCHED) continue;
      if (isRepository && OF_GIT.includes(entry.name)) continue;
      const beginning = place && openChild(entry.name, place.changedAt);
      if (beginning !== undefined) order.addBeginning(beginning);
      else if (place === undefined) children.push(entry.name);
    }
    order.add(parent, children, openChild);
  }
  return { isComplete: order.isComplete, since };
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
      // Of names that differ only in case, programs look for the one in lower case.
      return [
        ...entries.filter(({ name }) => isSmall(name)),
        ...entries.filter(({ name }) => !isSmall(name)),
      ];
    } finally {
      reader.closeSync();
    }
  } catch (error) {
    if (isGone(error) || isClosedToPrograms(directory)) return [];
    throw error;
  }
}

function isSmall(name: string): boolean {
  return !/[A-Z]/.test(name);
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

function latest(first: bigint, second: bigint): bigint {
  return first > second ? first : second;
}

/** @param since When the directories that make it a place were changed. */
function open(
  parent: number,
  entry: Dirent,
  path: string,
  isBeginning: boolean,
  since: bigint,
): OpenPlace | undefined {
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
    changedAt: latest(stat.ctimeNs, since),
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

/** How many directories in one directory come before those elsewhere, the oldest of them. */
const MAX_SIBLINGS = 100;

/** A directory that is still to be searched. */
interface WaitingDirectory {
  readonly fd: number;
  readonly names: readonly string[];
  /** When it got its name or its contents, in nanoseconds since the epoch, if it is the beginning of a place; otherwise 0. */
  readonly changedAt: bigint;
}

/**
 * The order in which directories are searched, level by level. A program could hide a directory behind any
 * number of new ones. Therefore beginnings of places come first, and then the oldest directories of a level.
 */
class SearchOrder implements Disposable {
  /** Whether no directory has been left out. */
  isComplete = true;
  readonly #beginnings: WaitingDirectory[] = [];
  readonly #level: WaitingDirectory[] = [];
  readonly #late: WaitingDirectory[] = [];
  readonly #opened: number[] = [];
  readonly #most: number;
  #searched = 0;

  /** @param most How many directories are searched, not counting beginnings of places. */
  constructor(first: WaitingDirectory, most: number) {
    this.#level.push(first);
    this.#most = most;
  }

  /** Returns the next directory; `undefined` if there is none, or enough have been searched. */
  next(): WaitingDirectory | undefined {
    const beginning = this.#beginnings.shift();
    if (beginning !== undefined) return beginning;
    const next = this.#searched < this.#most ? (this.#level.shift() ?? this.#late.shift()) : undefined;
    if (next !== undefined) this.#searched++;
    else if (this.#level.length + this.#late.length > 0) this.isComplete = false;
    return next;
  }

  addBeginning(directory: WaitingDirectory): void {
    this.#opened.push(directory.fd);
    this.#beginnings.push(directory);
  }

  /**
   * Adds the directories in a directory.
   *
   * @param open Opens one of them. Returns `undefined` if it is not there any more.
   */
  add(parent: number, names: readonly string[], open: (name: string) => WaitingDirectory | undefined): void {
    const ordered = names.length > MAX_SIBLINGS ? oldestFirst(parent, names) : names;
    for (const [index, name] of ordered.entries()) {
      const queue = index < MAX_SIBLINGS ? this.#level : this.#late;
      if (this.#searched + queue.length >= this.#most) {
        this.isComplete = false;
        return;
      }
      const directory = open(name);
      if (directory === undefined) continue;
      this.#opened.push(directory.fd);
      queue.push(directory);
    }
  }

  [Symbol.dispose](): void {
    for (const fd of this.#opened) closeSync(fd);
  }
}

/** Programs can change every other time of a directory. */
function oldestFirst(parent: number, names: readonly string[]): readonly string[] {
  return names
    .map((name) => ({ name, age: bornAt(entryPath(parent, name)) }))
    .sort((one, other) => one.age - other.age)
    .map(({ name }) => name);
}

function bornAt(path: string): number {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.birthtimeMs ?? Number.POSITIVE_INFINITY;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
