import { type BigIntStats, type Dirent, fstatSync, type Stats, statfsSync } from "node:fs";
import { syscall, WorkspaceError } from "./error.ts";
import { fdPath } from "./paths.ts";

/** The kind of a directory entry, with the names of WASI's `descriptor-type`. */
export type EntryKind =
  | "block-device"
  | "character-device"
  | "directory"
  | "fifo"
  | "regular-file"
  | "socket"
  | "symbolic-link"
  | "unknown";

/** The status of a file or directory. Times are in nanoseconds since the epoch. */
export interface EntryStat {
  readonly kind: EntryKind;
  /** Size in bytes. */
  readonly size: bigint;
  readonly links: bigint;
  readonly accessedAt: bigint;
  readonly modifiedAt: bigint;
  readonly changedAt: bigint;
  /** Identifies the file. It contains device and inode numbers of this machine, so tools must not see it. */
  readonly identity: string;
}

/** File systems that expose the kernel instead of storing files, by their magic numbers in `statfs(2)`. */
const KERNEL_FILE_SYSTEMS: readonly number[] = [
  0x9fa0, // proc
  0x62656572, // sysfs
  0x27e0eb, // cgroup
  0x63677270, // cgroup2
  0x64626720, // debugfs
  0x74726163, // tracefs
];

/**
 * Returns the status of an open descriptor.
 *
 * @throws {WorkspaceError} `not-permitted` for a file that has several hard links and belongs to another user, since one of them
 *   may be outside of the granted directories.
 */
export function statFd(fd: number): EntryStat {
  const stats: BigIntStats = fstatSync(fd, { bigint: true });
  const kind = kindOf(stats);
  if (kind === "regular-file" && !isOfThisUser({ nlink: Number(stats.nlink), uid: Number(stats.uid) }))
    throw new WorkspaceError("not-permitted", FOREIGN_LINKS);
  return {
    kind,
    size: stats.size,
    links: stats.nlink,
    accessedAt: stats.atimeNs,
    modifiedAt: stats.mtimeNs,
    changedAt: stats.ctimeNs,
    identity: `${stats.dev}:${stats.ino}`,
  };
}

/**
 * Checks an entry that was opened without its contents.
 *
 * @param device A device whose file system is known to store files: entries on it are not checked for that.
 *   Default: every entry is checked.
 * @returns its status.
 * @throws {WorkspaceError} if it is not a regular file, has several hard links and belongs to another user,
 *   or is of a file system that exposes the kernel. The message says which.
 */
export function checkRegularFile(place: number, device?: number): Stats {
  const stats = syscall(() => fstatSync(place));
  const kind = kindOf(stats);
  if (kind === "directory") throw new WorkspaceError("is-directory");
  if (kind === "symbolic-link") throw new WorkspaceError("loop");
  if (kind !== "regular-file") throw new WorkspaceError("not-permitted", NOT_REGULAR[kind]);
  if (!isOfThisUser(stats)) throw new WorkspaceError("not-permitted", FOREIGN_LINKS);
  if (stats.dev !== device && syscall(() => isOfKernel(place)))
    throw new WorkspaceError("not-permitted", "the file belongs to a file system that exposes the kernel");
  return stats;
}

/**
 * Whether a file has one name only, or belongs to this user: another of its names may be outside the granted directories,
 * but then this user made it, or could.
 */
export function isOfThisUser({ nlink, uid }: Pick<Stats, "nlink" | "uid">): boolean {
  return nlink === 1 || uid === process.geteuid?.();
}

const FOREIGN_LINKS =
  "the file has several names (hard links) and belongs to another user: copy it to a file of its own first";

const NOT_REGULAR: Readonly<Partial<Record<EntryKind, string>>> = {
  fifo: "the path is a named pipe, which is never opened",
  socket: "the path is a socket, which is never opened",
  "block-device": "the path is a device, which is never opened",
  "character-device": "the path is a device, which is never opened",
};

/** Returns the kind of an entry. */
export function kindOf(entry: Stats | BigIntStats | Dirent<Buffer>): EntryKind {
  if (entry.isFile()) return "regular-file";
  if (entry.isDirectory()) return "directory";
  if (entry.isSymbolicLink()) return "symbolic-link";
  if (entry.isFIFO()) return "fifo";
  if (entry.isSocket()) return "socket";
  if (entry.isCharacterDevice()) return "character-device";
  return entry.isBlockDevice() ? "block-device" : "unknown";
}

/** Whether a descriptor belongs to a file system that exposes the kernel. */
export function isOfKernel(fd: number): boolean {
  return KERNEL_FILE_SYSTEMS.includes(statfsSync(fdPath(fd)).type);
}
