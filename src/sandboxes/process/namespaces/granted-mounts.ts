import { closeSync, fstatSync, openSync, readlinkSync } from "node:fs";
import { basename, posix } from "node:path";
import type { DirectoryGrant } from "../../../policy/grant/directory-grant.ts";
import type { FileGrant } from "../../../policy/grant/file-grant.ts";
import { type FsGrant, isFileGrant } from "../../../policy/grant/fs-grant.ts";
import type { SnapshotPlace } from "../../../workspace/directory-snapshot.ts";
import { type FoundPlace, findProtected } from "../../../workspace/find-protected.ts";
import { type ProtectionGrant, protectionOf } from "../../../workspace/granted-protected.ts";
import { ENTRY_FLAGS, fdPath } from "../../../workspace/paths/fd-path.ts";
import { DirectoryGrantError, openGranted } from "../../../workspace/root.ts";
import type { GrantedFiles } from "../launcher.ts";

/** Where a directory is seen whose grant does not say where: a program needs the root for its system directories. */
export const DEFAULT_DIRECTORY = "/workspace";

/** Where nothing can be shown, as the system's own files are there. */
const TAKEN = [
  "/bin",
  "/dev",
  "/etc",
  "/lib",
  "/lib32",
  "/lib64",
  "/libx32",
  "/proc",
  "/sbin",
  "/sys",
  "/usr",
];

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
  readonly places: readonly SnapshotPlace[];
  readonly #writable: { readonly fd: number; readonly grant: ProtectionGrant; readonly before: Places }[] =
    [];

  /** @throws {DirectoryGrantError} if one of them cannot be shown. */
  constructor(grants: readonly FsGrant[]) {
    const places: SnapshotPlace[] = [];
    this.places = places;
    try {
      for (const grant of grants) {
        const isDirectory = !isFileGrant(grant);
        const at = checkPlace(isDirectory ? placeOf(grant) : (grant.at ?? `/${basename(grant.file)}`));
        const fd = isDirectory ? openGranted(grant.directory) : openFile(grant);
        this.#mounts.push({ fd, at, isWritable: grant.write === true, isDirectory });
        const isOnly = grants.length === 1 && isDirectory;
        const shownAs = (path: string): string => (isOnly ? path : posix.join(at, path).slice(1));
        if (grant.write) places.push({ fd, isDirectory, shownAs });
        if (isDirectory && grant.write) this.#protect(fd, protectionOf(grant), at);
      }
    } catch (error) {
      this[Symbol.dispose]();
      throw error;
    }
  }

  /** The descriptors, in the order of {@link args}. */
  get fds(): readonly number[] {
    return this.#mounts.map(({ fd }) => fd);
  }

  get isWritable(): boolean {
    return this.#mounts.some(({ isWritable }) => isWritable);
  }

  /**
   * What two of these have in common if they show the same directories and files in the same places. A directory that is
   * mounted somewhere keeps its numbers to itself, even if it is removed.
   */
  get identity(): string {
    return JSON.stringify(
      this.#mounts.map(({ fd, at, isWritable, isDirectory }) => {
        const { dev, ino } = fstatSync(fd, { bigint: true });
        return [at, isWritable, isDirectory, `${dev}:${ino}`];
      }),
    );
  }

  /** The first directory; `/tmp` if there is none. */
  get workingDirectory(): string {
    return this.#mounts.find(({ isDirectory }) => isDirectory)?.at ?? "/tmp";
  }

  /**
   * The options with which bubblewrap shows them.
   *
   * @param firstFd The number that the first descriptor has in bubblewrap.
   */
  args(firstFd: number): readonly string[] {
    return this.#mounts
      .map((mount, index) => ({ ...mount, number: firstFd + index }))
      .sort((a, b) => (a.at < b.at ? -1 : 1))
      .flatMap(({ at, isWritable, number }) => [isWritable ? "--bind-fd" : "--ro-bind-fd", `${number}`, at]);
  }

  /**
   * The protected places that have appeared, or that have been replaced, since the directories were opened, as paths
   * relative to the granted directory.
   */
  changedProtectedPlaces(): readonly string[] {
    return this.#writable.flatMap(({ fd, grant, before }) => {
      const found = findProtected(fd, grant);
      for (const place of found) closeSync(place.fd);
      return found
        .filter(({ path, identity, isBeginning }) => !isBeginning && before.get(path) !== identity)
        .map(({ path }) => path);
    });
  }

  /**
   * Shows the protected places of a writable directory read-only, and the directories in which they are as mounts of their
   * own: a mount cannot be renamed, nor can another directory take its path. A link cannot be covered.
   */
  #protect(fd: number, grant: ProtectionGrant, at: string): void {
    const found = findProtected(fd, grant);
    const before = new Map(found.map(({ path, identity }) => [path, identity]));
    this.#writable.push({ fd, grant, before });
    for (const place of found) {
      if (place.kind === "link") closeSync(place.fd);
      else this.#mounts.push(mountOf(place, at));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this[Symbol.dispose]();
  }

  [Symbol.dispose](): void {
    for (const { fd } of this.#mounts.splice(0)) closeSync(fd);
  }
}

/** The identities of protected places, by their paths. */
type Places = ReadonlyMap<string, string>;

function mountOf({ fd, path, kind, isBeginning }: FoundPlace, at: string): Mount {
  return { fd, at: `${at}/${path}`, isWritable: isBeginning, isDirectory: kind === "directory" };
}

function placeOf({ at = "/" }: DirectoryGrant): string {
  return at === "/" ? DEFAULT_DIRECTORY : at;
}

/** @throws {DirectoryGrantError} if the system has files there. */
export function checkPlace(at: string): string {
  const taken = TAKEN.find((place) => at === place || at.startsWith(`${place}/`));
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
    `the granted file '${file}' is no regular file, or is reached through a link`,
  );
}
