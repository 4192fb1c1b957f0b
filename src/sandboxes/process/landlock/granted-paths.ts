import { type BigIntStats, closeSync, fstatSync, lstatSync } from "node:fs";
import { rm } from "node:fs/promises";
import { dirname, join, posix } from "node:path";
import type { QueueOwner } from "../../../base/fair-queue.ts";
import { makeTemporaryDirectory } from "../../../base/temporary-directory.ts";
import { type DirectoryGrant, type FsGrant, isFileGrant } from "../../../policy/grant/fs-grant.ts";
import { shownPath } from "../../../tool/tool-failure.ts";
import type { SnapshotPlace } from "../../../workspace/directory-snapshot.ts";
import { findProtected } from "../../../workspace/find-protected.ts";
import { protectionOf } from "../../../workspace/granted-protected.ts";
import {
  coverOf,
  type GuardedCover,
  GuardedWatch,
  guardedAccess,
  isNearGuarded,
  refuseGuardedGrant,
} from "../../../workspace/guarded-watch.ts";
import { allMade, type MadePlaces, ProtectedWatch } from "../../../workspace/protected-watch.ts";
import { DirectoryGrantError, openGranted } from "../../../workspace/root.ts";
import type { GrantedFiles, Launched } from "../launcher.ts";
import { checkPlace, openFile } from "../namespaces/granted-mounts.ts";
import type { GrantedPath } from "./launch-plan.ts";

/** The granted directories and files of a call, which its program uses at their own paths, and its temporary directory. */
export class GrantedPaths implements GrantedFiles {
  /** Only the program uses it. Removed after the call. */
  readonly temporary: string = makeTemporaryDirectory("tmp");
  /** The program that uses them. */
  launched: Launched | undefined;
  readonly #places: SnapshotPlace[] = [];
  readonly #paths: GrantedPath[] = [];
  readonly #fds: number[] = [];
  readonly #watches: ProtectedWatch[] = [];
  readonly #watch = new GuardedWatch();
  #workingDirectory: string | undefined;

  /**
   * @param system The paths of the system that the program may use. Hard links in them are not looked for.
   * @param owner The owner of the grant.
   * @throws {DirectoryGrantError} if one of them cannot be used at its own path.
   */
  static async open(
    grants: readonly FsGrant[],
    system: readonly GrantedPath[],
    owner: QueueOwner,
  ): Promise<GrantedPaths> {
    const paths = new GrantedPaths();
    try {
      for (const { path } of system.filter((each) => isNearGuarded(each.path))) {
        const cover = coverOf(path, false);
        refuseGuarded(path, cover, false);
        paths.#watch.addDirectory(path, false, cover, path);
      }
      for (const grant of grants) await paths.#add(grant, grants.length === 1, owner);
    } catch (error) {
      void paths[Symbol.asyncDispose]();
      throw error;
    }
    return paths;
  }

  private constructor() {}

  get places(): readonly SnapshotPlace[] {
    return this.#places;
  }

  get paths(): readonly GrantedPath[] {
    return [...this.#paths, { path: this.temporary, access: "write" }];
  }

  /** The first directory; the temporary one if no directory is granted. */
  get workingDirectory(): string {
    return this.#workingDirectory ?? this.temporary;
  }

  get isWritable(): boolean {
    return this.#paths.some(({ access }) => access === "write");
  }

  get identity(): string {
    return JSON.stringify(this.#paths);
  }

  onExposed(listener: (path: string) => void): void {
    this.#watch.onExposed(listener);
  }

  async moveAside(): Promise<MadePlaces> {
    return allMade(await Promise.all(this.#watches.map((watch) => watch.moveAside())));
  }

  async #add(grant: FsGrant, isOnly: boolean, owner: QueueOwner): Promise<void> {
    const path = isFileGrant(grant) ? grant.file : grant.directory;
    const { at = "/" } = grant;
    if (at !== path && at !== "/")
      throw new DirectoryGrantError(
        `'${path}' cannot be shown at '${at}' without namespaces: it can be used at its own path only`,
      );
    checkPlace(path);
    refuseGuardedGrant(path, grant.write === true);
    const fd = isFileGrant(grant) ? openFile(grant) : openGranted(path);
    this.#fds.push(fd);
    const { dev, ino } = fstatSync(fd, { bigint: true });
    this.#paths.push({ path, access: grant.write ? "write" : "read", identity: `${dev}:${ino}` });
    const isDirectory = !isFileGrant(grant);
    const packageFile = nearestPackageFile(isDirectory ? path : dirname(path));
    if (packageFile !== undefined) this.#paths.push(packageFile);
    const shownAs = (below: string): string =>
      isOnly && isDirectory ? below : posix.join(path, below).slice(1);
    if (grant.write) this.#places.push({ fd, isDirectory, shownAs });
    if (isFileGrant(grant)) {
      this.#watch.addFile(path, path);
      return;
    }
    this.#workingDirectory ??= path;
    const cover = coverOf(path, grant.write === true);
    refuseGuarded(path, cover, grant.write === true);
    this.#watch.addDirectory(path, grant.write === true, cover, path);
    const watch = await refuseUncovered(fd, grant, owner);
    if (watch !== undefined) this.#watches.push(watch);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#watch[Symbol.dispose]();
    for (const fd of this.#fds.splice(0)) closeSync(fd);
    const { launched } = this;
    // A program that still runs could redirect the removal with links.
    if (launched?.hasEnded !== false) await this.#removeTemporary();
    else void launched.exited.then(() => (launched.hasEnded ? this.#removeTemporary() : undefined));
  }

  async #removeTemporary(): Promise<void> {
    // Directories that this user may not read remain.
    await rm(this.temporary, { recursive: true, force: true }).catch(() => {});
  }
}

/** The text for the model about one of Sandgate's own files. */
const GUARDED_HERE =
  "Permission denied: a directory that this tool is granted has one of Sandgate's own files, which cannot be hidden from programs " +
  "here. Ask the user to grant another directory, or to install bubblewrap";

/**
 * Landlock allows a directory with everything in it.
 *
 * @param isWritable If so, protected files must not be created in it, either.
 * @throws {DirectoryGrantError} if there is one of Sandgate's own files in it which the program must not
 *   change or read.
 */
function refuseGuarded(
  directory: string,
  { readOnly, hidden, missing }: GuardedCover,
  isWritable: boolean,
): void {
  const [guarded] = [...hidden.map(({ path }) => path), ...readOnly, ...(isWritable ? missing : [])];
  if (guarded !== undefined)
    throw new DirectoryGrantError(
      `'${directory}' has one of Sandgate's own files, '${guarded}', which Landlock cannot keep from programs: grant another directory, or install bubblewrap`,
      GUARDED_HERE,
    );
}

/**
 * Landlock allows a directory with everything in it, including what does not exist yet.
 *
 * @throws {DirectoryGrantError} if there is something in it that the program must not change or read.
 */
async function refuseUncovered(
  fd: number,
  grant: DirectoryGrant,
  owner: QueueOwner,
): Promise<ProtectedWatch | undefined> {
  const { directory, write = false } = grant;
  if (!write) return undefined;
  const protection = protectionOf(grant);
  const found = await findProtected(fd, protection, { owner });
  for (const place of found.places) closeSync(place.fd);
  const place = found.places.find(({ isBeginning }) => !isBeginning);
  if (place !== undefined)
    throw new DirectoryGrantError(
      `'${directory}' has '${place.path}', which other programs run or follow, and which Landlock cannot keep from being changed: ` +
        "grant it without write, say writesProtected: true, or install bubblewrap",
      `Permission denied: a directory that this tool is granted with write has '${shownPath(place.path)}', which other programs run ` +
        "or follow, and whose changes cannot be prevented here. Ask the user to install bubblewrap, to accept that with " +
        "writesProtected: true in the grant, or to grant the directory without write",
    );
  return new ProtectedWatch(fd, protection, found, owner);
}

/**
 * Finds the file that tells Node.js how to load a module: the `package.json` in the module's directory, or
 * else in the nearest one above it. Landlock cannot hide one that is outside of what is granted, and Node.js
 * ends if it exists and cannot be read.
 *
 * @param directory An absolute path.
 * @returns `undefined` if it does not exist, is not a regular file (a link could lead to anything), or must
 *   not be read by tools.
 */
function nearestPackageFile(directory: string): GrantedPath | undefined {
  for (let at = directory; ; at = dirname(at)) {
    const path = join(at, "package.json");
    const stat = statOf(path);
    if (stat !== undefined)
      return stat.isFile() && guardedAccess(path) !== "none"
        ? { path, access: "read", identity: `${stat.dev}:${stat.ino}` }
        : undefined;
    if (at === dirname(at)) return undefined;
  }
}

function statOf(path: string): BigIntStats | undefined {
  try {
    return lstatSync(path, { bigint: true });
  } catch {
    return undefined;
  }
}
