import { closeSync, constants, openSync } from "node:fs";
import { isOfKernel, statFd } from "./entry-stat.ts";
import { ask, syscallUnless, WorkspaceError } from "./error.ts";
import { type FileAccess, WorkspaceFile } from "./file.ts";
import { HeldFd } from "./held-fd.ts";
import { entryPath, fdPath, O_PATH } from "./paths/fd-path.ts";
import { PathWalk } from "./paths/walk.ts";
import type { WorkspaceRoot } from "./root.ts";

/** How a path is opened. What is left out is `false`. */
export interface OpenOptions extends Partial<FileAccess> {
  /** Creates a file where nothing is. */
  readonly create?: boolean;
  /** With `create`: fails where something is. */
  readonly exclusive?: boolean;
  /** Cuts a file off at its beginning. Needs `write`. */
  readonly truncate?: boolean;
  /** Fails where the path leads to anything but a directory. */
  readonly directory?: boolean;
  /** Goes on where the path ends in a link; otherwise such a link cannot be opened. */
  readonly follow?: boolean;
}

/** How often something is tried anew that somebody else keeps creating and removing at the same time. */
const MAX_TRIES = 8;

/**
 * Opens what a path leads to: first as a place, which is looked at, then the contents of that place. So a FIFO or a
 * device is never opened, and a file is never cut off before it is known to be a plain one.
 *
 * @param from The open directory in which the path begins.
 * @returns the file; of a directory, its descriptor.
 */
export function openPath(
  root: WorkspaceRoot,
  from: number,
  path: string,
  options: OpenOptions,
): WorkspaceFile | HeldFd {
  const { write, create, truncate, directory } = options;
  if (write || create || truncate) root.checkWritable();
  if ((truncate && !write) || (create && directory)) throw new WorkspaceError("invalid");
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const opened = tryOpen(root, from, path, options);
    if (opened !== undefined) return opened;
  }
  throw new WorkspaceError("busy");
}

/** @returns `undefined` when the file that was to be created is there by now. */
function tryOpen(
  root: WorkspaceRoot,
  from: number,
  path: string,
  options: OpenOptions,
): WorkspaceFile | HeldFd | undefined {
  const { create = false, exclusive = false, follow = false } = options;
  using walk = new PathWalk(from, path);
  const found = walk.open(follow && !(create && exclusive));
  if (typeof found !== "number") {
    if (!create) throw new WorkspaceError("no-entry");
    return createFile(root, entryPath(walk.directory, found.missing), options);
  }
  try {
    if (create && exclusive) throw new WorkspaceError("exist");
    return openPlace(root, found, options);
  } finally {
    closeSync(found);
  }
}

function createFile(root: WorkspaceRoot, path: string, options: OpenOptions): WorkspaceFile | undefined {
  root.handles.checkRoom();
  root.budget.create();
  const flags = constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW | accessFlags(options);
  const fd = syscallUnless(options.exclusive ? [] : ["exist"], () => openSync(path, flags, 0o666));
  return fd === undefined ? undefined : fileOf(root, () => fd, options);
}

/** Opens the contents of a place: the very file or directory that was looked at, whatever has its name now. */
function openPlace(root: WorkspaceRoot, place: number, options: OpenOptions): WorkspaceFile | HeldFd {
  const { kind } = ask(() => statFd(place));
  if (kind === "directory") {
    if (options.write || options.create) throw new WorkspaceError("is-directory");
    const flags = constants.O_DIRECTORY | O_PATH;
    return new HeldFd(root.handles, () => ask(() => openSync(fdPath(place), flags)));
  }
  if (options.directory) throw new WorkspaceError("not-directory");
  if (kind === "symbolic-link") throw new WorkspaceError("loop");
  if (kind !== "regular-file" || ask(() => isOfKernel(place))) throw new WorkspaceError("not-permitted");
  const file = fileOf(root, () => openSync(fdPath(place), accessFlags(options)), options);
  if (options.truncate) file.resize(0);
  return file;
}

function fileOf(
  root: WorkspaceRoot,
  open: () => number,
  { read = false, write = false }: OpenOptions,
): WorkspaceFile {
  return new WorkspaceFile(root, new HeldFd(root.handles, () => ask(open)), { read, write });
}

/** Files that are opened never become this process's terminal, and opening them never waits. */
function accessFlags({ read = false, write = false }: OpenOptions): number {
  const { O_RDONLY, O_WRONLY, O_RDWR, O_NONBLOCK, O_NOCTTY } = constants;
  return (write ? (read ? O_RDWR : O_WRONLY) : O_RDONLY) | O_NONBLOCK | O_NOCTTY;
}
