import {
  constants,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readSync,
  writeSync,
} from "node:fs";
import { type EntryStat, statFd } from "./entry-stat.ts";
import { syscall, WorkspaceError } from "./error.ts";
import { HeldFd } from "./held-fd.ts";
import { fdPath } from "./paths/fd-path.ts";
import type { WorkspaceRoot } from "./root.ts";

/** Maximum bytes that one read returns. */
export const MAX_READ_BYTES: number = 1_024 * 1_024;

/** The access that a file is opened for. */
export interface FileAccess {
  readonly read: boolean;
  readonly write: boolean;
}

/** An open regular file below a granted directory. All methods throw {@link WorkspaceError} on failure. */
export class WorkspaceFile {
  readonly access: FileAccess;
  readonly #root: WorkspaceRoot;
  readonly #fd: HeldFd;
  /** A lower bound of the file's size in bytes. */
  #end = 0;

  constructor(root: WorkspaceRoot, fd: HeldFd, access: FileAccess) {
    this.#root = root;
    this.#fd = fd;
    this.access = access;
  }

  /**
   * Reads at an offset.
   *
   * @param offset Offset in bytes.
   * @returns at most `length` bytes, and at most {@link MAX_READ_BYTES}; an empty array at the end of the
   *   file.
   */
  read(offset: number, length: number): Uint8Array {
    const bytes = new Uint8Array(Math.min(length, MAX_READ_BYTES));
    const fd = this.#readable();
    return bytes.subarray(
      0,
      syscall(() => readSync(fd, bytes, 0, bytes.length, checkOffset(offset))),
    );
  }

  /** Writes all bytes at an offset. A gap between the end of the file and the offset counts as written. */
  write(offset: number, bytes: Uint8Array): void {
    const fd = this.#writable();
    const end = checkOffset(checkOffset(offset) + bytes.length);
    if (offset > this.#end) this.#end = syscall(() => fstatSync(fd)).size;
    this.#root.budget.change(bytes.length + Math.max(0, offset - this.#end));
    writeAll(fd, bytes, offset);
    this.#end = Math.max(this.#end, end);
  }

  /** Opens the same file for appending, which is safe even if others append at the same time. */
  openForAppending(): WorkspaceAppender {
    const flags = constants.O_WRONLY | constants.O_APPEND;
    const path = fdPath(this.#writable());
    const open = (): number => syscall(() => openSync(path, flags));
    return new WorkspaceAppender(this.#root, new HeldFd(this.#root.handles, open));
  }

  stat(): EntryStat {
    return syscall(() => statFd(this.#fd.number));
  }

  /** Truncates the file, or extends it with zeros, which count as written. */
  resize(size: number): void {
    const fd = this.#writable();
    const grows = checkOffset(size) - syscall(() => fstatSync(fd)).size;
    this.#root.budget.change(Math.max(0, grows));
    syscall(() => ftruncateSync(fd, size));
    this.#end = size;
  }

  /** Flushes data and metadata to the disk. */
  sync(): void {
    syscall(() => fsyncSync(this.#fd.number));
  }

  /** Flushes data to the disk. */
  syncData(): void {
    syscall(() => fdatasyncSync(this.#fd.number));
  }

  /** Adds a holder, which must close the file as well. */
  share(): this {
    this.#fd.share();
    return this;
  }

  /** Releases one holder, and closes the file when the last one is released. */
  close(): void {
    this.#fd.release();
  }

  #readable(): number {
    if (!this.access.read) throw new WorkspaceError("bad-descriptor");
    return this.#fd.number;
  }

  #writable(): number {
    if (!this.access.write) throw new WorkspaceError("bad-descriptor");
    return this.#fd.number;
  }
}

/** A file that can only be appended to. */
export class WorkspaceAppender {
  readonly #root: WorkspaceRoot;
  readonly #fd: HeldFd;

  constructor(root: WorkspaceRoot, fd: HeldFd) {
    this.#root = root;
    this.#fd = fd;
  }

  /** Appends all bytes to the file. */
  write(bytes: Uint8Array): void {
    const fd = this.#fd.number;
    this.#root.budget.change(bytes.length);
    writeAll(fd, bytes, null);
  }

  close(): void {
    this.#fd.release();
  }
}

/** @param offset `null` to append. */
function writeAll(fd: number, bytes: Uint8Array, offset: number | null): void {
  for (let done = 0; done < bytes.length; ) {
    const at = offset === null ? null : offset + done;
    const written = syscall(() => writeSync(fd, bytes, done, bytes.length - done, at));
    if (written === 0) throw new WorkspaceError("io");
    done += written;
  }
}

function checkOffset(offset: number): number {
  if (!Number.isSafeInteger(offset) || offset < 0) throw new WorkspaceError("file-too-large");
  return offset;
}
