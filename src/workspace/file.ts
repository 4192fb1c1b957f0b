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
import { ask, WorkspaceError } from "./error.ts";
import { HeldFd } from "./held-fd.ts";
import { fdPath } from "./paths/fd-path.ts";
import type { WorkspaceRoot } from "./root.ts";

/** The most bytes that one read gives. */
export const MAX_READ_BYTES: number = 1_024 * 1_024;

/** What a file is opened for. */
export interface FileAccess {
  readonly read: boolean;
  readonly write: boolean;
}

/** An open regular file below a granted directory. Every method throws {@link WorkspaceError}. */
export class WorkspaceFile {
  readonly access: FileAccess;
  readonly #root: WorkspaceRoot;
  readonly #fd: HeldFd;
  /** The file reaches at least so far, in bytes. */
  #end = 0;

  constructor(root: WorkspaceRoot, fd: HeldFd, access: FileAccess) {
    this.#root = root;
    this.#fd = fd;
    this.access = access;
  }

  /**
   * Reads from a place on.
   *
   * @param offset In bytes.
   * @returns at most `length` bytes, and at most {@link MAX_READ_BYTES}; none at the end of the file.
   */
  read(offset: number, length: number): Uint8Array {
    const bytes = new Uint8Array(Math.min(length, MAX_READ_BYTES));
    const fd = this.#readable();
    return bytes.subarray(
      0,
      ask(() => readSync(fd, bytes, 0, bytes.length, checkOffset(offset))),
    );
  }

  /** Writes all the bytes to a place. What lies between it and the end of the file counts as written. */
  write(offset: number, bytes: Uint8Array): void {
    const fd = this.#writable();
    const end = checkOffset(checkOffset(offset) + bytes.length);
    if (offset > this.#end) this.#end = ask(() => fstatSync(fd)).size;
    this.#root.budget.change(bytes.length + Math.max(0, offset - this.#end));
    writeAll(fd, bytes, offset);
    this.#end = Math.max(this.#end, end);
  }

  /** Opens the same file so that it can only be appended to, whoever else does at the same time. */
  openForAppending(): WorkspaceAppender {
    const flags = constants.O_WRONLY | constants.O_APPEND;
    const path = fdPath(this.#writable());
    const open = (): number => ask(() => openSync(path, flags));
    return new WorkspaceAppender(this.#root, new HeldFd(this.#root.handles, open));
  }

  stat(): EntryStat {
    return ask(() => statFd(this.#fd.number));
  }

  /** Cuts the file off, or lets it grow by zeros, which count as written. */
  resize(size: number): void {
    const fd = this.#writable();
    const grows = checkOffset(size) - ask(() => fstatSync(fd)).size;
    this.#root.budget.change(Math.max(0, grows));
    ask(() => ftruncateSync(fd, size));
    this.#end = size;
  }

  /** Waits until what was written is on the disk. */
  sync(): void {
    ask(() => fsyncSync(this.#fd.number));
  }

  /** Waits until the bytes that were written are on the disk, whatever else is known of the file. */
  syncData(): void {
    ask(() => fdatasyncSync(this.#fd.number));
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

  /** Writes all the bytes to where the file ends at that moment. */
  write(bytes: Uint8Array): void {
    const fd = this.#fd.number;
    this.#root.budget.change(bytes.length);
    writeAll(fd, bytes, null);
  }

  close(): void {
    this.#fd.release();
  }
}

/** @param offset `null` for a file that is appended to. */
function writeAll(fd: number, bytes: Uint8Array, offset: number | null): void {
  for (let done = 0; done < bytes.length; ) {
    const at = offset === null ? null : offset + done;
    const written = ask(() => writeSync(fd, bytes, done, bytes.length - done, at));
    if (written === 0) throw new WorkspaceError("io");
    done += written;
  }
}

function checkOffset(offset: number): number {
  if (!Number.isSafeInteger(offset) || offset < 0) throw new WorkspaceError("file-too-large");
  return offset;
}
