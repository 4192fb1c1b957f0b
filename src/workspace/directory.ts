import { closeSync, mkdirSync, renameSync, rmdirSync, unlinkSync } from "node:fs";
import { DirectoryListing } from "./directory-listing.ts";
import { type EntryStat, statFd } from "./entry-stat.ts";
import { ask, WorkspaceError } from "./error.ts";
import type { WorkspaceFile } from "./file.ts";
import { HeldFd } from "./held-fd.ts";
import { type OpenOptions, openPath } from "./open-path.ts";
import { entryPath } from "./paths/fd-path.ts";
import { PathWalk, readLink } from "./paths/walk.ts";
import type { WorkspaceRoot } from "./root.ts";

/**
 * An open directory: a granted one, or one below it. Paths are relative to it, have `/` between their names, and
 * never lead out of it, neither by `..` nor through links. Every method throws {@link WorkspaceError}.
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
   * Opens a regular file or a directory. Anything else is not opened, not even for a moment, and neither is a file
   * that has a second name.
   */
  open(path: string, options: OpenOptions = {}): WorkspaceFile | WorkspaceDirectory {
    const opened = openPath(this.#root, this.#here(), path, options);
    return opened instanceof HeldFd ? new WorkspaceDirectory(this.#root, opened) : opened;
  }

  /** What the path leads to is; of a link that is not followed, the link. */
  stat(path: string, { follow = false }: Pick<OpenOptions, "follow"> = {}): EntryStat {
    using walk = this.#walk(path);
    const place = walk.open(follow);
    if (typeof place !== "number") throw new WorkspaceError("no-entry");
    try {
      return ask(() => statFd(place));
    } finally {
      closeSync(place);
    }
  }

  /** What this directory is. */
  statSelf(): EntryStat {
    return ask(() => statFd(this.#here()));
  }

  /** What a link says, if that is a relative path: an absolute one would show where things are on this machine. */
  readLink(path: string): string {
    using walk = this.#walk(path);
    const name = walk.toLastName();
    const target = name === undefined ? undefined : readLink(walk.directory, name);
    if (target === undefined) throw new WorkspaceError("invalid");
    if (target.startsWith("/")) throw new WorkspaceError("not-permitted");
    return target;
  }

  /** The names in this directory. */
  list(): DirectoryListing {
    return new DirectoryListing(this.#root.handles, this.#here());
  }

  createDirectory(path: string): void {
    this.#root.checkWritable();
    this.#root.budget.create();
    this.#onEntry(withoutEndSlash(path), "exist", (entry) => mkdirSync(entry, 0o777));
  }

  /** Removes a directory that is empty. */
  removeDirectory(path: string): void {
    this.#root.checkWritable();
    this.#root.budget.change();
    this.#onEntry(withoutEndSlash(path), "invalid", rmdirSync);
  }

  /** Removes a file; of a link, the link itself. */
  removeFile(path: string): void {
    this.#root.checkWritable();
    this.#root.budget.change();
    this.#onEntry(path, "is-directory", unlinkSync);
  }

  /** Gives a file, a directory or a link another name, perhaps in another directory of the same workspace. */
  rename(path: string, to: WorkspaceDirectory, toPath: string): void {
    this.#root.checkWritable();
    to.#root.checkWritable();
    this.#root.budget.change();
    this.#onEntry(path, "invalid", (entry) => {
      to.#onEntry(toPath, "invalid", (toEntry) => renameSync(entry, toEntry));
    });
  }

  /**
   * Does something to the last name of a path; none of what is done follows a link there.
   *
   * @param otherwise Why it fails where the path ends in no name.
   */
  #onEntry(
    path: string,
    otherwise: "exist" | "invalid" | "is-directory",
    act: (entry: string) => void,
  ): void {
    using walk = this.#walk(path);
    const name = walk.toLastName();
    if (name === undefined) throw new WorkspaceError(otherwise);
    ask(() => act(entryPath(walk.directory, name)));
  }

  #walk(path: string): PathWalk {
    return new PathWalk(this.#here(), path);
  }

  #here(): number {
    const fd = this.#fd.number;
    this.#root.checkHolds(fd);
    return fd;
  }

  /** One more holder, who closes it too. */
  share(): this {
    this.#fd.share();
    return this;
  }

  /** Closes it when every holder did. */
  close(): void {
    this.#fd.release();
  }
}

/** Directories may be named with a `/` at the end, before there is one. */
function withoutEndSlash(path: string): string {
  let end = path.length;
  while (end > 1 && path[end - 1] === "/") end--;
  return path.slice(0, end);
}
