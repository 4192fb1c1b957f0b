import { closeSync, fstatSync, openSync, readlinkSync } from "node:fs";
import { basename, posix } from "node:path";
import type { QueueOwner } from "../../../base/fair-queue.ts";
import { type FileGrant, type FsGrant, isFileGrant } from "../../../policy/grant/fs-grant.ts";
import type { SnapshotPlace } from "../../../workspace/directory-snapshot.ts";
import { findProtected, type OpenPlace } from "../../../workspace/find-protected.ts";
import { protectionOf } from "../../../workspace/granted-protected.ts";
import {
  coverOf,
  GuardedWatch,
  isNearGuarded,
  openCovered,
  refuseGuardedGrant,
  replaceableText,
} from "../../../workspace/guarded-watch.ts";
import { ENTRY_FLAGS, fdPath } from "../../../workspace/paths.ts";
import { allMade, type MadePlaces, ProtectedWatch } from "../../../workspace/protected-watch.ts";
import { DirectoryGrantError, openGranted } from "../../../workspace/root.ts";
import type { FileUse, GrantedFiles } from "../launcher.ts";
import { takenPlace } from "../reserved.ts";
import { SHOWN_DIRECTORIES } from "./system-files.ts";

/** Where a directory is seen whose grant does not say where: a program needs the root for its system directories. */
export const DEFAULT_DIRECTORY = "/workspace";

/** A granted directory or file that is open, so that nothing else can take its place. */
interface Mount {
  readonly fd: number;
  readonly at: string;
  readonly isWritable: boolean;
  readonly isDirectory: boolean;
}

/** The granted directories and files of a call, opened. */
export class GrantedMounts implements GrantedFiles {
  readonly #mounts: Mount[] = [];
  /** The granted directories and files that can be changed. */
  readonly places: SnapshotPlace[] = [];
  readonly #watches: ProtectedWatch[] = [];
  /** Folders that are shown empty. */
  readonly #hidden: string[] = [];
  readonly #watch = new GuardedWatch();
  /** Which of Sandgate's own files are covered. */
  readonly #guarded: (readonly [path: string, identity: string])[] = [];
  readonly #use: FileUse;
  /** Where the granted directories and files are shown. */
  readonly #granted = new Set<string>();
  #canWait = true;

  /**
   * @param owner Who is granted them.
   * @param use See {@link Launcher.openFiles}.
   * @throws {DirectoryGrantError} if one of them cannot be shown.
   */
  static async open(
    grants: readonly FsGrant[],
    owner: QueueOwner,
    use: FileUse = "call",
  ): Promise<GrantedMounts> {
    const mounts = new GrantedMounts(use);
    await mounts.#open(grants, owner);
    return mounts;
  }

  private constructor(use: FileUse) {
    this.#use = use;
  }

  async #open(grants: readonly FsGrant[], owner: QueueOwner): Promise<void> {
    try {
      for (const grant of grants) {
        const at = checkPlace(placeOf(grant));
        if (this.#granted.has(at))
          throw new DirectoryGrantError(
            `two things would be shown at '${at}', of which one hides the other: give each a different 'at'`,
          );
        this.#granted.add(at);
      }
      for (const grant of grants) {
        const isDirectory = !isFileGrant(grant);
        const at = placeOf(grant);
        const fd = isDirectory ? openGranted(grant.directory) : openFile(grant);
        const own = isDirectory ? grant.directory : grant.file;
        const isWritable = grant.write === true;
        this.#mounts.push({ fd, at, isWritable, isDirectory });
        refuseGuardedGrant(own, isWritable);
        const missing = isDirectory ? this.#guard(own, at, isWritable) : [];
        const isOnly = grants.length === 1 && isDirectory;
        const shownAs = (path: string): string => (isOnly ? path : posix.join(at, path).slice(1));
        if (isWritable) this.places.push({ fd, isDirectory, shownAs });
        if (isDirectory && isWritable) {
          const protection = protectionOf(grant);
          const found = await findProtected(fd, protection, { owner });
          this.#watches.push(new ProtectedWatch(fd, protection, found, owner, missing));
          this.#protect(found.places, at);
        }
        if (!isDirectory) this.#watch.addFile(own, at);
      }
      for (const directory of SHOWN_DIRECTORIES)
        if (isNearGuarded(directory)) this.#guard(directory, directory, false);
    } catch (error) {
      this[Symbol.dispose]();
      throw error;
    }
  }

  /** The descriptors, in the order of {@link args}. */
  get fds(): readonly number[] {
    return this.#mounts.map(({ fd }) => fd);
  }

  /**
   * Whether they can be mounted before it is known when they are used: a file of the work tree can be removed meanwhile, and
   * bubblewrap would leave an empty one in its place. An empty directory does no harm.
   */
  get canWait(): boolean {
    return this.#canWait;
  }

  get isWritable(): boolean {
    return this.#mounts.some(({ isWritable }) => isWritable);
  }

  /**
   * Equal for two of these that show the same directories and files in the same places. The device and inode
   * of a mounted directory are not reused, even if it is removed.
   */
  get identity(): string {
    const mounts = this.#mounts.map(({ fd, at, isWritable, isDirectory }) => {
      const { dev, ino } = fstatSync(fd, { bigint: true });
      return [at, isWritable, isDirectory, `${dev}:${ino}`];
    });
    return JSON.stringify([mounts, this.#hidden, this.#guarded]);
  }

  /** The first directory; `/tmp` if no directory is granted. */
  get workingDirectory(): string {
    return this.#mounts.find(({ isDirectory }) => isDirectory)?.at ?? "/tmp";
  }

  /**
   * The options with which bubblewrap shows them.
   *
   * @param firstFd The number that the first descriptor has in bubblewrap.
   */
  args(firstFd: number): readonly string[] {
    const shown = this.#mounts.map(({ at, isWritable }, index) => ({
      at,
      options: [isWritable ? "--bind-fd" : "--ro-bind-fd", `${firstFd + index}`, at],
    }));
    const hidden = this.#hidden.map((at) => ({
      at,
      options: ["--perms", "0000", "--tmpfs", at, "--remount-ro", at],
    }));
    return [...shown, ...hidden].sort((a, b) => (a.at < b.at ? -1 : 1)).flatMap(({ options }) => options);
  }

  onExposed(listener: (path: string) => void): void {
    this.#watch.onExposed(listener);
  }

  async moveAside(): Promise<MadePlaces> {
    return allMade(await Promise.all(this.#watches.map((watch) => watch.moveAside())));
  }

  /** Covers Sandgate's own files. Returns those that do not exist. */
  #guard(directory: string, at: string, isWritable: boolean): readonly string[] {
    const cover = coverOf(directory, isWritable);
    const { readOnly, hidden, above, missing, found } = cover;
    const [first] = found.keys();
    if (first !== undefined) {
      if (this.#use === "lasting" && isWritable)
        throw new DirectoryGrantError(replaceableText(directory, first));
      // Of a sandbox that waits, a file that is replaced would not be covered.
      this.#canWait = false;
    }
    this.#guarded.push(...Array.from(found, ([path, identity]) => [`${at}/${path}`, identity] as const));
    this.#watch.addDirectory(directory, isWritable, cover, at);
    const isSeen = (path: string): boolean => !this.#isReplaced(`${at}/${path}`, at);
    const mount = (path: string, shown: Pick<Mount, "isWritable" | "isDirectory">): unknown =>
      isSeen(path) && this.#mounts.push({ fd: openCovered(directory, path), at: `${at}/${path}`, ...shown });
    for (const path of above) mount(path, { isWritable: true, isDirectory: true });
    for (const path of readOnly) mount(path, { isWritable: false, isDirectory: false });
    for (const { path, isFolder } of hidden.filter((each) => isSeen(each.path))) {
      if (isFolder) this.#hidden.push(`${at}/${path}`);
      // A device in the place of a file: devices cannot be opened there.
      else
        this.#mounts.push({
          fd: openSync("/dev/null", ENTRY_FLAGS),
          at: `${at}/${path}`,
          isWritable: false,
          isDirectory: false,
        });
    }
    return missing;
  }

  /**
   * Shows the protected places of a writable directory read-only, and the directories in which they are as mounts of their
   * own: a mount cannot be renamed, nor can another directory take its path. A link cannot be covered.
   */
  #protect(found: readonly OpenPlace[], at: string): void {
    const known = new Set([...this.#mounts.map((mount) => mount.at), ...this.#hidden]);
    for (const place of found) {
      if (place.kind !== "directory" && !/(^|\/)\.git(\/|$)/.test(place.path)) this.#canWait = false;
      const shownAt = `${at}/${place.path}`;
      if (place.kind === "link" || known.has(shownAt) || this.#isReplaced(shownAt, at)) closeSync(place.fd);
      else this.#mounts.push(mountOf(place, at));
    }
  }

  /** Whether another grant is shown at a path of a directory, or above it: what the directory has there is not seen. */
  #isReplaced(path: string, at: string): boolean {
    return this.#granted
      .values()
      .some((other) => other.startsWith(`${at}/`) && (path === other || path.startsWith(`${other}/`)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this[Symbol.dispose]();
  }

  [Symbol.dispose](): void {
    for (const { fd } of this.#mounts.splice(0)) closeSync(fd);
    this.#watch[Symbol.dispose]();
  }
}

function mountOf({ fd, path, kind, isBeginning }: OpenPlace, at: string): Mount {
  return { fd, at: `${at}/${path}`, isWritable: isBeginning, isDirectory: kind === "directory" };
}

function placeOf(grant: FsGrant): string {
  if (isFileGrant(grant)) return grant.at ?? `/${basename(grant.file)}`;
  const { at = "/" } = grant;
  return at === "/" ? DEFAULT_DIRECTORY : at;
}

/** @throws {DirectoryGrantError} if the system has files there. */
export function checkPlace(at: string): string {
  const taken = takenPlace(at);
  if (taken === undefined) return at;
  throw new DirectoryGrantError(`nothing can be shown at '${at}': ${taken} has files of the system`);
}

/** Opens a file that a grant names, without following links. */
export function openFile({ file }: FileGrant): number {
  let fd: number;
  try {
    fd = openSync(file, ENTRY_FLAGS);
  } catch (error) {
    throw new DirectoryGrantError(`the granted file '${file}' cannot be opened: ${String(error)}`);
  }
  if (readlinkSync(fdPath(fd)) === file && fstatSync(fd).isFile()) return fd;
  closeSync(fd);
  throw new DirectoryGrantError(
    `the granted file '${file}' is not a regular file, or is reached through a link`,
  );
}
