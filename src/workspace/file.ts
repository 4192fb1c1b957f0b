import {
  constants,
  fdatasyncSync,
  fstatSync,
  fsync,
  fsyncSync,
  ftruncateSync,
  openSync,
  read,
  readSync,
  write,
  writeSync,
} from "node:fs";
import { promisify } from "node:util";
import { type EntryStat, statFd } from "./entry-stat.ts";
import { syscall, syscallLater, WorkspaceError } from "./error.ts";
import { SharedFd } from "./open-handles.ts";
import { fdPath } from "./paths.ts";
import type { WorkspaceRoot } from "./root.ts";

/** Maximum bytes that one read returns. */
export const MAX_READ_BYTES: number = 1_024 * 1_024;

const readLater = promisify(read);
const writeLater = promisify(write);
const fsyncLater = promisify(fsync);

/** The access that a file is opened for. */
export interface FileAccess {
  readonly read: boolean;
  readonly write: boolean;
}

/** An open regular file below a granted directory. All methods throw {@link WorkspaceError} on failure. */
export class WorkspaceFile {
  readonly access: FileAccess;
  readonly #root: WorkspaceRoot;
  readonly #fd: SharedFd;
  /** `undefined` once a change has been recorded, or if changes are not recorded. */
  #path: string | undefined;
  /** A lower bound of the file's size in bytes. */
  #end = 0;
  readonly #sizeAtOpen: number | undefined;

  /**
   * @param path The path under which its changes are recorded. Default: they are not recorded.
   * @param size The size in bytes when it was opened. Default: it is read when needed.
   */
  constructor(root: WorkspaceRoot, fd: SharedFd, access: FileAccess, path?: string, size?: number) {
    this.#sizeAtOpen = size;
    this.#path = path;
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

  /** The size in bytes when the file was opened. It may have changed since. */
  get sizeAtOpen(): number {
    return this.#sizeAtOpen ?? syscall(() => fstatSync(this.#fd.number)).size;
  }

  /**
   * Reads into a part of a buffer.
   *
   * @param offset Offset in the file, in bytes.
   * @returns how many bytes were read: 0 at the end of the file.
   */
  readInto(part: Uint8Array, offset: number): number {
    const fd = this.#readable();
    return syscall(() => readSync(fd, part, 0, part.length, checkOffset(offset)));
  }

  /** Like {@link readInto}, without blocking this thread. The file must not be closed before the promise settles. */
  async readIntoLater(part: Uint8Array, offset: number): Promise<number> {
    const reading = readLater(this.#readable(), part, 0, part.length, checkOffset(offset));
    return (await syscallLater(reading)).bytesRead;
  }

  /** Writes all bytes at an offset. A gap between the end of the file and the offset counts as written. */
  write(offset: number, bytes: Uint8Array): void {
    const fd = this.#beginWrite(offset, bytes.length);
    writeAll(fd, bytes, offset);
    this.#end = Math.max(this.#end, offset + bytes.length);
  }

  /** Like {@link write}, without blocking this thread. The file must not be closed before the promise settles. */
  async writeLater(offset: number, bytes: Uint8Array): Promise<void> {
    await writeAllLater(this.#beginWrite(offset, bytes.length), bytes, offset);
    this.#end = Math.max(this.#end, offset + bytes.length);
  }

  #beginWrite(offset: number, length: number): number {
    const fd = this.#writable();
    checkOffset(checkOffset(offset) + length);
    if (offset > this.#end) this.#end = syscall(() => fstatSync(fd)).size;
    this.#change(length + Math.max(0, offset - this.#end));
    return fd;
  }

  #change(bytes: number): void {
    this.#root.budget.change(bytes);
    if (this.#path === undefined) return;
    this.#root.touch(this.#path, true);
    this.#path = undefined;
  }

  /** Opens the same file for appending, which is safe even if other processes append at the same time. */
  openForAppending(): WorkspaceAppender {
    const flags = constants.O_WRONLY | constants.O_APPEND;
    const path = fdPath(this.#writable());
    const open = (): number => syscall(() => openSync(path, flags));
    return new WorkspaceAppender(new SharedFd(this.#root.handles, open), (bytes) => this.#change(bytes));
  }

  stat(): EntryStat {
    return syscall(() => statFd(this.#fd.number));
  }

  /** Truncates the file, or extends it with zeros, which count as written. */
  resize(size: number): void {
    const fd = this.#writable();
    const grows = checkOffset(size) - syscall(() => fstatSync(fd)).size;
    this.#change(Math.max(0, grows));
    syscall(() => ftruncateSync(fd, size));
    this.#end = size;
  }

  /** Flushes data and metadata to the disk. */
  sync(): void {
    syscall(() => fsyncSync(this.#fd.number));
  }

  /** Like {@link sync}, without blocking this thread. The file must not be closed before the promise settles. */
  async syncLater(): Promise<void> {
    await syscallLater(fsyncLater(this.#fd.number));
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
  readonly #fd: SharedFd;
  readonly #change: (bytes: number) => void;

  /** @param change Called before bytes are written. May throw. */
  constructor(fd: SharedFd, change: (bytes: number) => void) {
    this.#fd = fd;
    this.#change = change;
  }

  /** Appends all bytes to the file. */
  write(bytes: Uint8Array): void {
    const fd = this.#fd.number;
    this.#change(bytes.length);
    writeAll(fd, bytes, null);
  }

  /** Like {@link write}, without blocking this thread. The file must not be closed before the promise settles. */
  async writeLater(bytes: Uint8Array): Promise<void> {
    const fd = this.#fd.number;
    this.#change(bytes.length);
    await writeAllLater(fd, bytes, null);
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

async function writeAllLater(fd: number, bytes: Uint8Array, offset: number | null): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const at = offset === null ? null : offset + done;
    const { bytesWritten } = await syscallLater(writeLater(fd, bytes, done, bytes.length - done, at));
    if (bytesWritten === 0) throw new WorkspaceError("io");
    done += bytesWritten;
  }
}

function checkOffset(offset: number): number {
  if (!Number.isSafeInteger(offset) || offset < 0) throw new WorkspaceError("file-too-large");
  return offset;
}
