import {
  closeSync,
  constants,
  fchmodSync,
  lstatSync,
  mkdirSync,
  openSync,
  readlinkSync,
  renameSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { QueueOwner } from "../base/fair-queue.ts";
import { guardFiles } from "../base/guarded-files.ts";
import { loadCrypto } from "../base/load-crypto.ts";
import { syscall, syscallUnless, WorkspaceError } from "./error.ts";
import { type FoundPlace, type FoundPlaces, listProtected } from "./find-protected.ts";
import type { ProtectionGrant } from "./granted-protected.ts";
import { Guard } from "./guard.ts";
import { DIRECTORY_FLAGS, entryPath, fdPath } from "./paths.ts";
import { OWN_PREFIX } from "./protected-places.ts";
import { PathWalk } from "./walk.ts";

const READ_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Where places are moved to, in the granted directory. */
const FOLDER = "moved-aside";

/** How many directories are searched for what a program made. */
const MAX_SEARCHED = 1_000;

/** The clock of files is behind by a tick. */
const CLOCK_NS = 20_000_000n;

/** What a program made where other programs run or follow it. */
export interface MadePlace {
  /** Relative to the granted directory. */
  readonly path: string;
  /** Where it is now; `undefined` if it could not be moved. */
  readonly movedTo: string | undefined;
}

/** The findings after a program has ended. */
export interface MadePlaces {
  readonly places: readonly MadePlace[];
  /** Whether it is all that there was: otherwise, more can be in directories that were not searched. */
  readonly isComplete: boolean;
}

/** Returns what was found in several directories. */
export function allMade(found: readonly MadePlaces[]): MadePlaces {
  return {
    places: found.flatMap(({ places }) => places),
    isComplete: found.every(({ isComplete }) => isComplete),
  };
}

/** Finds what appears in the protected places of a directory while a program runs in it. */
export class ProtectedWatch {
  readonly #fd: number;
  readonly #grant: ProtectionGrant;
  readonly #before: ReadonlyMap<string, FoundPlace>;
  readonly #owner: QueueOwner;
  /** By their paths, what was on the way to guarded files that did not exist. */
  readonly #guarded: ReadonlyMap<string, Foremost | undefined>;
  readonly #since: bigint;

  /**
   * @param fd The open directory.
   * @param found What was found in it before. The descriptors are not used.
   * @param owner For whom it is watched.
   * @param guarded The paths of guarded files that do not exist, relative to the directory.
   */
  constructor(
    fd: number,
    grant: ProtectionGrant,
    { places: before, isComplete, since }: FoundPlaces,
    owner: QueueOwner,
    guarded: readonly string[] = [],
  ) {
    this.#owner = owner;
    this.#fd = fd;
    this.#grant = grant;
    // A file system of another machine has another clock: the time counts only where not everything is known.
    this.#since = isComplete ? 0n : BigInt(since) * 1_000_000n - CLOCK_NS;
    this.#before = new Map(before.map((place) => [place.path, place]));
    this.#guarded = new Map(guarded.map((path) => [path, foremost(fd, path)]));
  }

  /** Moves what has appeared out of the way, and says what it was. Never rejects. */
  async moveAside(): Promise<MadePlaces> {
    const unsearched: MadePlace[] = [];
    const { places: found, isComplete } = await listProtected(this.#fd, this.#grant, {
      owner: this.#owner,
      maxDirectories: MAX_SEARCHED,
      onUnsearched: (path) => unsearched.push({ path: path || ".", movedTo: undefined }),
    });
    const guarded = this.#madeGuarded();
    const made = [...new Set([...this.#made(found), ...guarded])];
    const moved = made.flatMap((path): readonly MadePlace[] => {
      try {
        const movedTo = moveAside(this.#fd, path);
        if (movedTo === undefined) return [];
        if (guarded.includes(path)) this.#guardMoved(path, movedTo);
        return [{ path, movedTo }];
      } catch {
        return [{ path, movedTo: undefined }];
      }
    });
    // A program can close a directory of its own to hide what it made there.
    return { places: [...moved, ...unsearched], isComplete };
  }

  /** Guards a moved entry if it is now a guarded file: an operator can have created a key meanwhile. */
  #guardMoved(path: string, movedTo: string): void {
    const directory = readlinkSync(fdPath(this.#fd));
    if (Guard.current()?.accessTo(join(directory, path)) !== "none") return;
    guardFiles([{ path: join(directory, movedTo), isFolder: true }]);
    using walk = new PathWalk(this.#fd, movedTo, "refused");
    const name = walk.toLastName() as string;
    const fd = openSync(entryPath(walk.directory, name), READ_FLAGS);
    try {
      fchmodSync(fd, 0);
    } finally {
      closeSync(fd);
    }
  }

  #madeGuarded(): readonly string[] {
    return Array.from(this.#guarded, ([path, before]) => {
      const now = foremost(this.#fd, path);
      return now !== undefined && now.path === before?.path && now.identity === before.identity
        ? undefined
        : now?.path;
    }).filter((path) => path !== undefined);
  }

  /** A new repository is one of them as a whole. */
  #made(found: readonly FoundPlace[]): readonly string[] {
    const made = found.filter((place) => !place.isBeginning && this.#isNew(place)).map(({ path }) => path);
    const repositories = found
      .filter((place) => place.isBeginning && this.#isNew(place) && /(^|\/)\.git$/i.test(place.path))
      .map(({ path }) => path)
      .filter((path) => made.some((each) => each.startsWith(`${path}/`)));
    const whole = (path: string): string => repositories.find((each) => path.startsWith(`${each}/`)) ?? path;
    // Sandgate's own folder comes first: nothing else is moved into one that the program made.
    return [...new Set(made.map(whole))].sort();
  }

  /** The program cannot have changed what was covered while it ran: another process did. */
  #isNew({ path, identity, parent, changedAt }: FoundPlace): boolean {
    const known = this.#before.get(path);
    if (known === undefined) return changedAt >= this.#since;
    return known.identity !== identity && (known.parent !== parent || known.kind === "link");
  }
}

/** The first entry on the way to a path that is not a directory. */
interface Foremost {
  readonly path: string;
  readonly identity: string;
}

/** Returns what is at a path, or on the way to it in the place of a directory, such as a link. */
function foremost(root: number, path: string): Foremost | undefined {
  const names = path.split("/");
  for (const [index, name] of names.entries()) {
    const at = names.slice(0, index + 1).join("/");
    try {
      using walk = new PathWalk(root, at, "refused");
      walk.toLastName();
      const stats = lstatSync(entryPath(walk.directory, name), { throwIfNoEntry: false });
      if (stats === undefined) return undefined;
      if (!stats.isDirectory() || index === names.length - 1)
        return { path: at, identity: `${stats.dev}:${stats.ino}` };
    } catch {
      // Moving it shows whether there is something.
      return { path: at, identity: "" };
    }
  }
  return undefined;
}

/**
 * Moves what is at a path to Sandgate's own folder of a granted directory, under a name that means nothing to any program.
 *
 * @param root The open granted directory.
 * @param path Relative to it. No link on the way is followed.
 * @returns the new path, relative to the granted directory; `undefined` if there is nothing there any more.
 * @throws {WorkspaceError} if it cannot be moved.
 */
function moveAside(root: number, path: string): string | undefined {
  const name = loadCrypto().randomBytes(8).toString("hex");
  const beside = `${OWN_PREFIX}-aside-${name}`;
  const moveBeside = (): string | undefined =>
    rename(root, path, (entry) => renameSync(entry, entryPath(root, beside))) ? beside : undefined;
  // A program made Sandgate's own folder: nothing is moved into it.
  if (path.startsWith(OWN_PREFIX) && !path.includes("/")) return moveBeside();
  let folder: number;
  try {
    folder = openFolder(root);
  } catch {
    return moveBeside();
  }
  try {
    const moved = rename(root, path, (entry) => renameSync(entry, entryPath(folder, name)));
    return moved ? `${OWN_PREFIX}/${FOLDER}/${name}` : undefined;
  } finally {
    closeSync(folder);
  }
}

function openFolder(root: number): number {
  const own = openOwn(root, OWN_PREFIX, () => true);
  try {
    return openOwn(own, FOLDER, () => false);
  } finally {
    closeSync(own);
  }
}

function rename(root: number, path: string, act: (entry: string) => void): boolean {
  try {
    using walk = new PathWalk(root, path, "refused");
    const name = walk.toLastName();
    if (name === undefined) return false;
    syscall(() => act(entryPath(walk.directory, name)));
    return true;
  } catch (error) {
    if (error instanceof WorkspaceError && ["no-entry", "not-directory", "loop"].includes(error.code))
      return false;
    throw error;
  }
}

function openOwn(parent: number, name: string, isOutermost: () => boolean): number {
  const path = entryPath(parent, name);
  const isNew = syscallUnless(["exist"], () => mkdirSync(path, 0o700) ?? true);
  const fd = syscall(() => openSync(path, DIRECTORY_FLAGS));
  if (isNew && isOutermost())
    syscall(() => writeFileSync(entryPath(fd, ".gitignore"), "*\n", { flag: "wx" }));
  return fd;
}
