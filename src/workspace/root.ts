import { closeSync, lstatSync, openSync, readlinkSync, type Stats } from "node:fs";
import { posix } from "node:path";
import type { DirectoryGrant } from "../policy/grant/fs-grant.ts";
import type { ChangeBudget } from "./change-budget.ts";
import { isOfKernel } from "./entry-stat.ts";
import { EscapeError, GuardedFileError, ProtectedPlaceError, syscall, WorkspaceError } from "./error.ts";
import { type ProtectionGrant, repositoryPlace, unopenedPlace } from "./granted-protected.ts";
import { Guard } from "./guard.ts";
import { type DirectorySource, type OpenHandles, SharedFd } from "./open-handles.ts";
import { DIRECTORY_FLAGS, fdPath, namesIn, realPath } from "./paths.ts";
import type { PathWalk } from "./walk.ts";

const ABSENT = { throwIfNoEntry: false } as const;

/** A granted directory cannot be used. `message` is for operators, as it contains the directory's path. */
export class DirectoryGrantError extends Error {
  override readonly name = "DirectoryGrantError";
  /** Why, for the model, without a path of this machine. Absent: it is a matter of the operator alone. */
  readonly modelText: string | undefined;

  /** @param message For the operator. */
  constructor(message: string, modelText?: string) {
    super(message);
    this.modelText = modelText;
  }
}

interface RootPlace {
  readonly index: number;
  readonly directories: DirectorySource;
  readonly named?: string;
}

/** An open granted directory, with the handles and the budget of the whole call. */
export class WorkspaceRoot {
  readonly isWritable: boolean;
  readonly fd: SharedFd;
  readonly handles: OpenHandles;
  readonly budget: ChangeBudget;
  /** The device of the directory, which is not a file system of the kernel. */
  readonly device: number;
  readonly #directory: string;
  readonly #index: number;
  readonly #protection: ProtectionGrant;

  /**
   * @param place.index Identifies the root among those of the call.
   * @param place.directories Opens the directory.
   * @param place.named The path that the grant names: the directory, or a file in it. Default: the directory.
   * @throws {DirectoryGrantError} if the directory does not exist or cannot be granted.
   */
  constructor(
    {
      directory,
      write = false,
      writesProtected,
    }: Pick<DirectoryGrant, "directory" | "write" | "writesProtected">,
    handles: OpenHandles,
    budget: ChangeBudget,
    { index, directories, named = directory }: RootPlace,
  ) {
    this.isWritable = write;
    this.#protection = { named: namesIn(named), writesProtected };
    this.#directory = directory;
    this.#index = index;
    this.handles = handles;
    this.budget = budget;
    handles.checkRoom();
    const used = directories.use(directory, openGranted);
    this.device = used.device;
    this.fd = new SharedFd(
      handles,
      () => used.fd,
      () => used.release(),
    );
  }

  /** @throws {WorkspaceError} `read-only` if the grant does not allow writing. */
  checkWritable(): void {
    if (!this.isWritable) throw new WorkspaceError("read-only");
  }

  /** Returns the path of an entry, relative to this directory. */
  pathOf(directory: number, name: string): string {
    const own = realPath(this.fd.number);
    const names = namesIn(realPath(directory)).slice(namesIn(own).length);
    return [...names, name].join("/");
  }

  /**
   * Keeps that an entry has been changed.
   *
   * @param path As {@link pathOf} returned it before the change.
   * @param existed Whether the entry was there before.
   * @param isMovedDirectory Whether it is a directory that was moved there or away.
   */
  touch(path: string, existed: boolean, isMovedDirectory = false): void {
    this.budget.touched.add(this.#index, path, {
      existed,
      ...(isMovedDirectory && { isMovedDirectory: true }),
    });
  }

  /**
   * Checks that an open directory has not been moved out of the granted one.
   *
   * @throws {WorkspaceError} `not-permitted` if it has been.
   */
  checkHolds(fd: number): void {
    if (fd === this.fd.number) return;
    // Each byte as a character, as names need not be UTF-8.
    const root = realPath(this.fd.number, "latin1");
    const here = realPath(fd, "latin1");
    if (here !== root && !here.startsWith(root === "/" ? root : `${root}/`)) {
      throw new EscapeError();
    }
  }

  /**
   * Checks that an entry is not in a protected place that the grant does not name.
   *
   * @param walk The walk to the entry. The names of the links that it followed count, too.
   * @param isReplaced As in `protectedPlace`.
   * @throws {ProtectedPlaceError} if it is.
   */
  checkUnprotected(
    { directory, aliases }: Pick<PathWalk, "directory" | "aliases">,
    name: string,
    isReplaced: boolean,
  ): void {
    const paths = [[...namesIn(realPath(directory)), name], ...aliases];
    for (const path of paths) {
      const place = unopenedPlace(path, this.#protection, isReplaced);
      if (place !== undefined) throw new ProtectedPlaceError(place);
    }
    this.#checkUnguarded(paths, isReplaced);
    const [path = []] = paths;
    const repository = repositoryPlace(path, this.#protection, isThere);
    if (repository !== undefined) throw new ProtectedPlaceError(repository);
  }

  /**
   * Checks that tools may read an entry.
   *
   * @param name Of the entry in the directory; `undefined` for the directory itself.
   * @param stats Of the entry.
   * @throws {GuardedFileError} if they may not.
   */
  checkReadable(
    directory: number,
    name: string | undefined,
    stats: Pick<Stats, "dev" | "ino" | "nlink">,
  ): void {
    const guard = Guard.current();
    if (guard === undefined) return;
    const isNone = stats.nlink > 1 && guard.accessByLink(stats) === "none";
    if (isNone || (guard.isNear(this.#directory) && guard.accessTo(pathIn(directory, name)) === "none"))
      throw new GuardedFileError("none");
  }

  /** @throws {GuardedFileError} if one of the paths is that of a guarded file, or leads to one and could be moved away. */
  #checkUnguarded(paths: readonly (readonly string[])[], isReplaced: boolean): void {
    const guard = Guard.current();
    if (guard === undefined || !guard.isNear(this.#directory)) return;
    for (const names of paths) {
      const path = `/${names.join("/")}`;
      const access = guard.accessTo(path) ?? (isReplaced && guard.isAbove(path) ? "read" : undefined);
      if (access !== undefined) throw new GuardedFileError(access);
    }
  }
}

function isThere(names: readonly string[]): boolean {
  return syscall(() => lstatSync(`/${names.join("/")}`, ABSENT)) !== undefined;
}

function pathIn(directory: number, name: string | undefined): string {
  return name === undefined ? realPath(directory) : posix.join(realPath(directory), name);
}

/**
 * Opens a directory that a grant names, without following links.
 *
 * @throws {DirectoryGrantError} if it does not exist or cannot be granted.
 */
export function openGranted(directory: string): number {
  let fd: number;
  try {
    fd = openSync(directory, DIRECTORY_FLAGS);
  } catch (error) {
    throw new DirectoryGrantError(`the granted directory '${directory}' cannot be opened: ${String(error)}`);
  }
  const problem = problemWith(fd, directory);
  if (problem === undefined) return fd;
  closeSync(fd);
  throw new DirectoryGrantError(`the granted directory '${directory}' ${problem}`);
}

/**
 * Paths through links are refused, since anyone who can write to a parent directory may have created the
 * link.
 */
function problemWith(fd: number, directory: string): string | undefined {
  const path = syscall(() => readlinkSync(fdPath(fd)));
  if (path !== directory) return `is reached through a link: grant '${path}' instead`;
  return isOfKernel(fd) ? "is on a kernel file system such as /proc" : undefined;
}
