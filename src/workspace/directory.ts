import { lstatSync, mkdirSync, renameSync, rmdirSync, unlinkSync } from "node:fs";
import { type EntryStat, statFd } from "./entry-stat.ts";
import { syscall, WorkspaceError } from "./error.ts";
import type { WorkspaceFile } from "./file.ts";
import { FileReplacement, type ReplaceOptions } from "./file-replacement.ts";
import type { SharedFd } from "./open-handles.ts";
import { OpenedDirectory, type OpenOptions, openPath, statPath } from "./open-path.ts";
import { entryPath } from "./paths.ts";
import type { WorkspaceRoot } from "./root.ts";
import { DirectoryListing, type ToolDirectory } from "./tool-directory.ts";
import { type Aliases, PathWalk, readLink } from "./walk.ts";

/** A granted directory, or one below it. */
export class WorkspaceDirectory implements ToolDirectory {
  readonly #root: WorkspaceRoot;
  readonly #fd: SharedFd;
  readonly #aliases: Aliases;

  /** @param aliases Other paths by which the directory was reached. Default: none. */
  constructor(root: WorkspaceRoot, fd: SharedFd, aliases: Aliases = []) {
    this.#root = root;
    this.#fd = fd;
    this.#aliases = aliases;
  }

  get isWritable(): boolean {
    return this.#root.isWritable;
  }

  open(path: string, options: OpenOptions = {}): WorkspaceFile | WorkspaceDirectory {
    const opened = openPath(this.#root, this.#here(), path, { ...options, aliases: this.#aliases });
    if (!(opened instanceof OpenedDirectory)) return opened;
    return new WorkspaceDirectory(this.#root, opened.fd, opened.aliases);
  }

  stat(path: string, { follow }: Pick<OpenOptions, "follow"> = {}): EntryStat {
    return statPath(this.#here(), path, { follow });
  }

  statSelf(): EntryStat {
    return syscall(() => statFd(this.#here()));
  }

  readLink(path: string): string {
    using walk = this.#walk(path);
    const name = walk.toLastName();
    const target = name === undefined ? undefined : readLink(walk.directory, name);
    if (target === undefined) throw new WorkspaceError("invalid");
    if (target.startsWith("/")) throw new WorkspaceError("not-permitted");
    return target;
  }

  list(): DirectoryListing {
    return new DirectoryListing(this.#root.handles, this.#here());
  }

  replace(path: string, options: Pick<ReplaceOptions, "create"> = {}): FileReplacement {
    return new FileReplacement(this.#root, this.#here(), path, { ...options, aliases: this.#aliases });
  }

  createDirectory(path: string): void {
    this.#root.checkWritable();
    this.#root.budget.create();
    this.#onEntry(withoutEndSlash(path), "exist", false, (entry, path) => {
      mkdirSync(entry, 0o777);
      this.#root.touch(path, false);
    });
  }

  removeDirectory(path: string): void {
    this.#root.checkWritable();
    this.#root.budget.change();
    this.#onEntry(withoutEndSlash(path), "invalid", false, (entry) => rmdirSync(entry));
  }

  removeFile(path: string): void {
    this.#root.checkWritable();
    this.#root.budget.change();
    this.#onEntry(path, "is-directory", false, (entry, path) => {
      unlinkSync(entry);
      this.#root.touch(path, true);
    });
  }

  rename(path: string, to: ToolDirectory, toPath: string): void {
    this.#root.checkWritable();
    // Other directories have only files that were granted one by one.
    if (!(to instanceof WorkspaceDirectory)) throw new WorkspaceError("not-permitted");
    to.#root.checkWritable();
    this.#root.budget.change();
    this.#onEntry(path, "invalid", true, (entry, oldPath) => {
      to.#onEntry(toPath, "invalid", true, (toEntry, newPath) => {
        const isDirectory = lstatSync(entry).isDirectory();
        const existed = lstatSync(toEntry, { throwIfNoEntry: false }) !== undefined;
        renameSync(entry, toEntry);
        this.#root.touch(oldPath, true, isDirectory);
        to.#root.touch(newPath, existed, isDirectory);
      });
    });
  }

  /**
   * Calls `act` with the entry at a path, and with its path relative to the root. If that is a link, `act` must not follow
   * it.
   *
   * @param otherwise The error code for paths that do not end in a name, such as `a/..`.
   * @param isReplaced As in `isProtected`.
   */
  #onEntry(
    path: string,
    otherwise: "exist" | "invalid" | "is-directory",
    isReplaced: boolean,
    act: (entry: string, path: string) => void,
  ): void {
    using walk = this.#walk(path);
    const name = walk.toLastName();
    if (name === undefined) throw new WorkspaceError(otherwise);
    this.#root.checkUnprotected(walk, name, isReplaced);
    const touched = this.#root.pathOf(walk.directory, name);
    syscall(() => act(entryPath(walk.directory, name), touched));
  }

  #walk(path: string): PathWalk {
    return new PathWalk(this.#here(), path, "allowed", this.#aliases);
  }

  #here(): number {
    const fd = this.#fd.number;
    this.#root.checkHolds(fd);
    return fd;
  }

  share(): this {
    this.#fd.share();
    return this;
  }

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
