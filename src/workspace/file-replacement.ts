import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  openSync,
  renameSync,
  type Stats,
  unlinkSync,
} from "node:fs";
import { loadCrypto } from "../base/load-crypto.ts";
import { checkRegularFile } from "./entry-stat.ts";
import { syscall, syscallUnless, WorkspaceError } from "./error.ts";
import { WorkspaceFile } from "./file.ts";
import { SharedFd } from "./open-handles.ts";
import { entryPath, fdPath, O_PATH } from "./paths.ts";
import { OWN_PREFIX } from "./protected-places.ts";
import type { WorkspaceRoot } from "./root.ts";
import { type Aliases, type LinkRule, PathWalk } from "./walk.ts";

/** How a file is replaced. */
export interface ReplaceOptions {
  /** Whether the file may be missing. Default: false. */
  readonly create?: boolean;
  /** Whether the path may lead through links. Default: `allowed`. */
  readonly links?: LinkRule;
  /** Other paths of the directory that the path is relative to. Default: none. */
  readonly aliases?: Aliases;
}

/**
 * A new version of a file. It is written beside the old version, in the same directory, and takes its name
 * only when it is complete: if anything fails before, for example because the disk is full, the old version
 * is unchanged. The new version has the permissions of the old one, and its owner where this process may set
 * it.
 */
export class FileReplacement implements Disposable {
  readonly #root: WorkspaceRoot;
  readonly #directory: SharedFd;
  readonly #name: string;
  readonly #temporaryName: string;
  readonly #file: WorkspaceFile;
  readonly #existed: boolean;
  #isPending = true;

  /**
   * Creates the new version, empty.
   *
   * @param from The open directory that the path is relative to.
   * @throws {WorkspaceError} if the file could not be opened for writing either.
   */
  constructor(root: WorkspaceRoot, from: number, path: string, options: ReplaceOptions = {}) {
    const { create = false, links, aliases } = options;
    root.checkWritable();
    using walk = new PathWalk(from, path, links, aliases);
    const found = walk.open(links !== "refused");
    try {
      if (typeof found !== "number" && !create) throw new WorkspaceError("no-entry");
      if (walk.lastName === undefined) throw new WorkspaceError("is-directory");
      root.checkUnprotected(walk, walk.lastName, true);
      const old = typeof found === "number" ? checkReplaceable(found) : undefined;
      if (old === undefined) root.budget.create();
      this.#root = root;
      this.#existed = old !== undefined;
      this.#name = walk.lastName;
      this.#temporaryName = `${OWN_PREFIX}-${loadCrypto().randomBytes(8).toString("hex")}.tmp`;
      const here = fdPath(walk.directory);
      this.#directory = new SharedFd(root.handles, () => syscall(() => openSync(here, O_PATH)));
      this.#file = this.#create(old);
    } finally {
      if (typeof found === "number") closeSync(found);
    }
  }

  #create(old: Stats | undefined): WorkspaceFile {
    const path = entryPath(this.#directory.number, this.#temporaryName);
    const open = (): number => {
      const fd = syscall(() => openSync(path, NEW_FILE_FLAGS, old === undefined ? 0o666 : 0o600));
      try {
        if (old !== undefined) takeOver(fd, old);
        return fd;
      } catch (error) {
        closeSync(fd);
        unlinkSync(path);
        throw error;
      }
    };
    try {
      const fd = new SharedFd(this.#root.handles, open);
      return new WorkspaceFile(this.#root, fd, { read: false, write: true });
    } catch (error) {
      this.#directory.release();
      throw error;
    }
  }

  /** The new version. */
  get file(): WorkspaceFile {
    return this.#file;
  }

  /** Renames the new version to the file. It must have been flushed to the disk. */
  commit(): void {
    const directory = this.#directory.number;
    this.#root.checkHolds(directory);
    const path = entryPath(directory, this.#temporaryName);
    const replaced = this.#root.pathOf(directory, this.#name);
    syscall(() => renameSync(path, entryPath(directory, this.#name)));
    this.#root.touch(replaced, this.#existed);
    this.#isPending = false;
  }

  /** Removes the new version, unless it was renamed. */
  [Symbol.dispose](): void {
    this.#file.close();
    if (this.#isPending) {
      this.#isPending = false;
      syscallUnless(["no-entry"], () => unlinkSync(entryPath(this.#directory.number, this.#temporaryName)));
    }
    this.#directory.release();
  }
}

const { O_CREAT, O_EXCL, O_NOCTTY, O_NOFOLLOW, O_NONBLOCK, O_WRONLY } = constants;
const NEW_FILE_FLAGS = O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY;

/** Returns the status of a file that could be opened for writing. */
function checkReplaceable(place: number): Stats {
  checkRegularFile(place);
  const fd = syscall(() => openSync(fdPath(place), O_WRONLY | O_NONBLOCK | O_NOCTTY));
  try {
    return syscall(() => fstatSync(fd));
  } finally {
    closeSync(fd);
  }
}

/** Gives a new version the permissions of the old one, and its owner where this process may set it. */
export function takeOver(fd: number, { mode, uid, gid }: Pick<Stats, "mode" | "uid" | "gid">): void {
  const own = fstatSync(fd);
  if (own.uid !== uid || own.gid !== gid) {
    // Unprivileged processes can only set one of their own groups.
    syscallUnless(["not-permitted"], () => fchownSync(fd, own.uid, gid));
    syscallUnless(["not-permitted"], () => fchownSync(fd, uid, gid));
  }
  const isOfGroup = fstatSync(fd).gid === gid;
  syscall(() => fchmodSync(fd, (isOfGroup ? mode : asForOthers(mode)) & 0o777));
}

/** Gives the group only the permissions of everyone: it is not the group for which the mode was set. */
function asForOthers(mode: number): number {
  return mode & (0o707 | ((mode & 0o007) << 3));
}
