import { closeSync, mkdirSync, openSync, renameSync, writeFileSync } from "node:fs";
import { loadCrypto } from "../base/load-crypto.ts";
import { syscall, syscallUnless, WorkspaceError } from "./error.ts";
import { type FoundPlace, findProtected } from "./find-protected.ts";
import type { ProtectionGrant } from "./granted-protected.ts";
import { DIRECTORY_FLAGS, entryPath } from "./paths/fd-path.ts";
import { PathWalk } from "./paths/walk.ts";
import { OWN_PREFIX } from "./protected-places.ts";

/** Where places are moved to, in the granted directory. */
const FOLDER = "moved-aside";

/** How many directories are searched for what a program made. */
const MAX_SEARCHED = 1_000;

/** The clock of files is behind by a tick. */
const CLOCK_NS = 20_000_000n;

/** The most entries that are moved. */
const MAX_MOVED = 20;

/** What a program made where other programs run or follow it. */
export interface MadePlace {
  /** Relative to the granted directory. */
  readonly path: string;
  /** Where it is now; `undefined` if it could not be moved. */
  readonly movedTo: string | undefined;
}

/** What was found when a program had ended. */
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
  readonly #guarded: readonly string[];
  readonly #since = BigInt(Date.now()) * 1_000_000n - CLOCK_NS;

  /**
   * @param fd The open directory.
   * @param before What was found in it. Their descriptors are not used.
   * @param guarded The paths of guarded files that do not exist, relative to the directory.
   */
  constructor(
    fd: number,
    grant: ProtectionGrant,
    before: readonly FoundPlace[],
    guarded: readonly string[] = [],
  ) {
    this.#fd = fd;
    this.#grant = grant;
    this.#before = new Map(before.map((place) => [place.path, place]));
    this.#guarded = guarded;
  }

  /** Moves what has appeared out of the way, and says what it was. Never throws. */
  moveAside(): MadePlaces {
    const unsearched: MadePlace[] = [];
    const { places: found, isComplete } = findProtected(this.#fd, this.#grant, {
      maxDirectories: MAX_SEARCHED,
      onUnsearched: (path) => unsearched.push({ path: path || ".", movedTo: undefined }),
    });
    for (const { fd } of found) closeSync(fd);
    const made = [...this.#made(found), ...this.#guarded];
    const moved = made.slice(0, MAX_MOVED).flatMap((path): readonly MadePlace[] => {
      try {
        const movedTo = moveAside(this.#fd, path);
        return movedTo === undefined ? [] : [{ path, movedTo }];
      } catch {
        return [{ path, movedTo: undefined }];
      }
    });
    // A program can close a directory of its own to hide what it made there.
    const places = [...moved, ...unsearched.slice(0, MAX_MOVED)];
    return { places, isComplete: isComplete && made.length <= MAX_MOVED && unsearched.length <= MAX_MOVED };
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
  // The program made Sandgate's own folder, too: nothing is moved into it.
  if (path.startsWith(OWN_PREFIX) && !path.includes("/")) {
    const target = `${OWN_PREFIX}-aside-${name}`;
    return rename(root, path, (entry) => renameSync(entry, entryPath(root, target))) ? target : undefined;
  }
  const own = openOwn(root, OWN_PREFIX, () => true);
  try {
    const folder = openOwn(own, FOLDER, () => false);
    try {
      const moved = rename(root, path, (entry) => renameSync(entry, entryPath(folder, name)));
      return moved ? `${OWN_PREFIX}/${FOLDER}/${name}` : undefined;
    } finally {
      closeSync(folder);
    }
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
