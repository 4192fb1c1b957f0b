import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { checkRegularFile, type EntryStat, statFd } from "./entry-stat.ts";
import { syscall, syscallUnless, WorkspaceError } from "./error.ts";
import { type FileAccess, WorkspaceFile } from "./file.ts";
import { FileReplacement } from "./file-replacement.ts";
import { SharedFd } from "./open-handles.ts";
import { entryPath, fdPath, O_PATH } from "./paths.ts";
import type { WorkspaceRoot } from "./root.ts";
import { type Aliases, type LinkRule, PathWalk } from "./walk.ts";

/** An open directory, and the other paths by which it was reached. */
export class OpenedDirectory {
  readonly fd: SharedFd;
  readonly aliases: Aliases;

  constructor(fd: SharedFd, aliases: Aliases) {
    this.fd = fd;
    this.aliases = aliases;
  }
}

/** How a path is opened. All options default to `false` unless they say otherwise. */
export interface OpenOptions extends Partial<FileAccess> {
  /** Creates the file if it does not exist. */
  readonly create?: boolean;
  /** With `create`, fails if the path exists. */
  readonly exclusive?: boolean;
  /** Truncates the file to zero bytes. Requires `write`. */
  readonly truncate?: boolean;
  /** Fails unless the path leads to a directory. */
  readonly directory?: boolean;
  /** Follows a link at the end of the path. Otherwise, opening such a link fails. */
  readonly follow?: boolean;
  /** Whether the path may lead through links. Default: `allowed`. */
  readonly links?: LinkRule;
  /** Other paths of the directory that the path is relative to. Default: none. */
  readonly aliases?: Aliases;
}

/** Maximum number of attempts to open a file that other processes create and remove at the same time. */
const MAX_TRIES = 8;

/**
 * Opens the file or directory at a path. It is first opened without its contents (`O_PATH`) and checked, and
 * only then with its contents. FIFOs and devices are therefore never opened, and a file is not truncated
 * before it is known to be a regular one.
 *
 * @param from The open directory that the path is relative to.
 * @returns the file or the directory.
 */
export function openPath(
  root: WorkspaceRoot,
  from: number,
  path: string,
  options: OpenOptions,
): WorkspaceFile | OpenedDirectory {
  const { write, create, truncate, directory } = options;
  if (write || create || truncate) root.checkWritable();
  if ((truncate && !write) || (create && directory)) throw new WorkspaceError("invalid");
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const opened = tryOpen(root, from, path, options);
    if (opened !== undefined) return opened;
  }
  throw new WorkspaceError("busy");
}

/** @returns `undefined` if another process has created the file in the meantime, or if it was replaced by a copy. */
function tryOpen(
  root: WorkspaceRoot,
  from: number,
  path: string,
  options: OpenOptions,
): WorkspaceFile | OpenedDirectory | undefined {
  const { write = false, create = false, exclusive = false, follow = false, links, aliases } = options;
  using walk = new PathWalk(from, path, links, aliases);
  const found = walk.open(follow && !(create && exclusive));
  if (typeof found !== "number") {
    if (!create) throw new WorkspaceError("no-entry");
    root.checkUnprotected(walk, found.missing, true);
    return createFile(root, walk.directory, found.missing, options);
  }
  try {
    if (create && exclusive) throw new WorkspaceError("exist");
    const { lastName, directory, aliases: reached } = walk;
    root.checkReadable(
      directory,
      lastName,
      syscall(() => fstatSync(found)),
    );
    if (!write || lastName === undefined) return openPlace(root, found, { ...options, aliases: reached });
    root.checkUnprotected(walk, lastName, true);
    if (replaceLinked(root, walk.directory, lastName, found, options)) return undefined;
    return openPlace(root, found, { ...options, aliases: reached }, root.pathOf(directory, lastName));
  } finally {
    closeSync(found);
  }
}

/**
 * Replaces a file that has several hard links by a copy, so that the other links are not changed. Returns
 * whether a file was replaced.
 */
function replaceLinked(
  root: WorkspaceRoot,
  directory: number,
  name: string,
  place: number,
  { directory: isDirectory = false, truncate = false }: OpenOptions,
): boolean {
  const stats = syscall(() => fstatSync(place));
  if (isDirectory || !stats.isFile() || stats.nlink === 1) return false;
  checkRegularFile(place, root.device);
  using version = new FileReplacement(root, directory, name, { links: "refused" });
  if (!truncate) copy(place, version.file);
  version.file.sync();
  version.commit();
  return true;
}

function copy(place: number, target: WorkspaceFile): void {
  const fd = syscall(() => openSync(fdPath(place), constants.O_RDONLY | constants.O_NOCTTY));
  try {
    const chunk = Buffer.allocUnsafe(COPY_BYTES);
    for (let offset = 0; ; ) {
      const length = syscall(() => readSync(fd, chunk, 0, chunk.length, offset));
      if (length === 0) return;
      target.write(offset, chunk.subarray(0, length));
      offset += length;
    }
  } finally {
    closeSync(fd);
  }
}

const COPY_BYTES = 256 * 1_024;

function createFile(
  root: WorkspaceRoot,
  directory: number,
  name: string,
  options: OpenOptions,
): WorkspaceFile | undefined {
  root.handles.checkRoom();
  root.budget.create();
  const flags = constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW | accessFlags(options);
  const fd = syscallUnless(options.exclusive ? [] : ["exist"], () =>
    openSync(entryPath(directory, name), flags, 0o666),
  );
  if (fd === undefined) return undefined;
  root.touch(root.pathOf(directory, name), false);
  return fileOf(root, () => fd, options);
}

/**
 * Checks and opens an entry that was opened with `O_PATH`, regardless of what has its name now.
 *
 * @param path As in `WorkspaceFile`.
 */
function openPlace(
  root: WorkspaceRoot,
  place: number,
  options: OpenOptions,
  path?: string,
): WorkspaceFile | OpenedDirectory {
  if (syscall(() => fstatSync(place)).isDirectory()) {
    if (options.write || options.create) throw new WorkspaceError("is-directory");
    const flags = constants.O_DIRECTORY | O_PATH;
    const fd = new SharedFd(root.handles, () => syscall(() => openSync(fdPath(place), flags)));
    return new OpenedDirectory(fd, options.aliases ?? []);
  }
  if (options.directory) throw new WorkspaceError("not-directory");
  const { size } = checkRegularFile(place, root.device);
  const file = fileOf(root, () => openSync(fdPath(place), accessFlags(options)), options, path, size);
  if (options.truncate) file.resize(0);
  return file;
}

function fileOf(
  root: WorkspaceRoot,
  open: () => number,
  { read = false, write = false }: OpenOptions,
  path?: string,
  size?: number,
): WorkspaceFile {
  const fd = new SharedFd(root.handles, () => syscall(open));
  return new WorkspaceFile(root, fd, { read, write }, path, size);
}

/**
 * Returns flags with which an opened file never becomes the controlling terminal, and opening it never
 * blocks.
 */
function accessFlags({ read = false, write = false }: OpenOptions): number {
  const { O_RDONLY, O_WRONLY, O_RDWR, O_NONBLOCK, O_NOCTTY } = constants;
  return (write ? (read ? O_RDWR : O_WRONLY) : O_RDONLY) | O_NONBLOCK | O_NOCTTY;
}

/** Returns the status of the entry at a path, with the options of a path that is opened. */
export function statPath(
  from: number,
  path: string,
  { follow = false, links }: { readonly follow?: boolean | undefined; readonly links?: LinkRule },
): EntryStat {
  using walk = new PathWalk(from, path, links);
  const place = walk.open(follow);
  if (typeof place !== "number") throw new WorkspaceError("no-entry");
  try {
    return syscall(() => statFd(place));
  } finally {
    closeSync(place);
  }
}
