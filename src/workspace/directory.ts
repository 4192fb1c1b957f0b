import { closeSync, mkdirSync, renameSync, rmdirSync, unlinkSync } from "node:fs";
import { DirectoryListing } from "./directory-listing.ts";
import { type EntryStat, statFd } from "./entry-stat.ts";
import { syscall, WorkspaceError } from "./error.ts";
import type { WorkspaceFile } from "./file.ts";
import { FileReplacement, type ReplaceOptions } from "./file-replacement.ts";
import { HeldFd } from "./held-fd.ts";
import { type OpenOptions, openPath } from "./open-path.ts";
import { entryPath } from "./paths/fd-path.ts";
import { PathWalk, readLink } from "./paths/walk.ts";
import type { WorkspaceRoot } from "./root.ts";

/**
 * An open directory: a granted one, or one below it. Paths are relative to it, have `/` between their names,
 * and cannot leave it, neither by `..` nor through links. All methods throw {@link WorkspaceError} on
 * failure.
 */
export class WorkspaceDirectory {
  readonly #root: WorkspaceRoot;
  readonly #fd: HeldFd;

  constructor(root: WorkspaceRoot, fd: HeldFd) {
    this.#root = root;
    this.#fd = fd;
  }

  get isWritable(): boolean {
    return this.#root.isWritable;
  }

  /**
   * Opens a regular file or a directory. Anything else is never opened, not even temporarily, and neither is
   * a file with more than one hard link.
   */
  open(path: string, options: OpenOptions = {}): WorkspaceFile | WorkspaceDirectory {
    const opened = openPath(this.#root, this.#here(), path, options);
    return opened instanceof HeldFd ? new WorkspaceDirectory(this.#root, opened) : opened;
  }

  /**
   * Returns the status of the entry at a path; of the link itself if the path ends in a link and `follow` is
   * not set.
   */
  stat(path: string, { follow = false }: Pick<OpenOptions, "follow"> = {}): EntryStat {
    using walk = this.#walk(path);
    const place = walk.open(follow);
    if (typeof place !== "number") throw new WorkspaceError("no-entry");
    try {
      return syscall(() => statFd(place));
    } finally {
      closeSync(place);
    }
  }

  /** Returns the status of this directory. */
  statSelf(): EntryStat {
    return syscall(() => statFd(this.#here()));
  }

  /**
   * Returns the target of a link. Absolute targets are refused, since they would reveal paths of this
   * machine.
   */
  readLink(path: string): string {
    using walk = this.#walk(path);
    const name = walk.toLastName();
    const target = name === undefined ? undefined : readLink(walk.directory, name);
    if (target === undefined) throw new WorkspaceError("invalid");
    if (target.startsWith("/")) throw new WorkspaceError("not-permitted");
    return target;
  }

  /** Lists the names in this directory. */
  list(): DirectoryListing {
    return new DirectoryListing(this.#root.handles, this.#here());
  }

  /** Begins to replace the contents of a file: see {@link FileReplacement}. Follows links. */
  replace(path: string, options: Pick<ReplaceOptions, "create"> = {}): FileReplacement {
    return new FileReplacement(this.#root, this.#here(), path, options);
  }

  createDirectory(path: string): void {
    this.#root.checkWritable();
    this.#root.budget.create();
    this.#onEntry(withoutEndSlash(path), "exist", false, (entry) => mkdirSync(entry, 0o777));
  }

  /** Removes an empty directory. */
  removeDirectory(path: string): void {
    this.#root.checkWritable();
    this.#root.budget.change();
    this.#onEntry(withoutEndSlash(path), "invalid", false, rmdirSync);
  }

  /** Removes a file, or a link itself. */
  removeFile(path: string): void {
    this.#root.checkWritable();
    this.#root.budget.change();
    this.#onEntry(path, "is-directory", false, unlinkSync);
  }

  /** Renames or moves a file, directory or link, within the same workspace. */
  rename(path: string, to: WorkspaceDirectory, toPath: string): void {
    this.#root.checkWritable();
    to.#root.checkWritable();
    this.#root.budget.change();
    this.#onEntry(path, "invalid", true, (entry) => {
      to.#onEntry(toPath, "invalid", true, (toEntry) => renameSync(entry, toEntry));
    });
  }

  /**
   * Calls `act` with the entry at a path. If that is a link, `act` must not follow it.
   *
   * @param otherwise The error code for paths that do not end in a name, such as `a/..`.
   * @param isReplaced As in `isProtected`.
   */
  #onEntry(
    path: string,
    otherwise: "exist" | "invalid" | "is-directory",
    isReplaced: boolean,
    act: (entry: string) => void,
  ): void {
    using walk = this.#walk(path);
    const name = walk.toLastName();
    if (name === undefined) throw new WorkspaceError(otherwise);
    this.#root.checkUnprotected(walk.directory, name, isReplaced);
    syscall(() => act(entryPath(walk.directory, name)));
  }

  #walk(path: string): PathWalk {
    return new PathWalk(this.#here(), path);
  }

  #here(): number {
    const fd = this.#fd.number;
    this.#root.checkHolds(fd);
    return fd;
  }

  /** Adds a holder, which must close the directory as well. */
  share(): this {
    this.#fd.share();
    return this;
  }

  /** Releases one holder, and closes the directory when the last one is released. */
  close(): void {
    this.#fd.release();
  }
}

/** Removes trailing slashes, which a path to a directory may have even before the directory exists. */
function withoutEndSlash(path: string): string {
  let end = path.length;
  while (end > 1 && path[end - 1] === "/") end--;
  return path.slice(0, end);
}
