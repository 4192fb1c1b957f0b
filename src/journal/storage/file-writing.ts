import { constants } from "node:fs";
import { type FileHandle, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { OpenFilePlace } from "../../base/open-file-place.ts";

/**
 * A file to which whole groups of lines are appended. After a write that failed, the next one first cuts the file back to
 * the end of the last group that was written. Nothing is written if the path no longer leads to the file, or another process
 * changed its size.
 */
export class AppendFile implements AsyncDisposable {
  readonly #place: OpenFilePlace;
  readonly #file: FileHandle;
  #size: number;
  /** The largest size that the file can have: more than `#size` after a write that failed. */
  #maxSize: number;

  private constructor(place: OpenFilePlace, file: FileHandle, size: number) {
    this.#place = place;
    this.#file = file;
    this.#size = size;
    this.#maxSize = size;
  }

  /** Opens a file, or creates it, readable for its owner only. */
  static async open(path: string): Promise<AppendFile> {
    const file = await openOrCreate(path);
    try {
      const status = await file.stat({ bigint: true });
      if (!status.isFile()) throw new Error(`'${path}' is not a file`);
      if (status.size === 0n) await syncDirectory(dirname(path));
      return new AppendFile(new OpenFilePlace(path, status), file, Number(status.size));
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  get path(): string {
    return this.#place.path;
  }

  /** Why nothing can be written: the path no longer leads to the file, or its size has changed. */
  get problem(): string | undefined {
    const found = this.#place.look();
    if (typeof found === "string") return found;
    if (found < this.#size) return `'${this.path}' was cut to ${found} bytes by another process`;
    return found > this.#maxSize ? `another process wrote to '${this.path}'` : undefined;
  }

  /** The number of bytes that were written. */
  get size(): number {
    return this.#size;
  }

  /** Writes bytes at the end: all of them, or, if it rejects, nothing. */
  async append(bytes: Uint8Array): Promise<void> {
    const { problem } = this;
    if (problem !== undefined) throw new Error(problem);
    if (this.#maxSize > this.#size) await this.cutBack();
    this.#maxSize = this.#size + bytes.length;
    for (let written = 0; written < bytes.length; ) {
      const left = bytes.length - written;
      written += (await this.#file.write(bytes, written, left, this.#size + written)).bytesWritten;
    }
    this.#size += bytes.length;
  }

  /** Waits until everything that was written is durable. */
  sync(): Promise<void> {
    return this.#file.datasync();
  }

  /** Cuts off the bytes from a position on, or those of a write that failed. */
  async cutBack(size: number = this.#size): Promise<void> {
    this.#maxSize = Math.max(this.#maxSize, this.#size);
    this.#size = size;
    await this.#file.truncate(size);
    this.#maxSize = size;
  }

  /** Reads the bytes from a position on. */
  async readFrom(position: number): Promise<Buffer> {
    const bytes = Buffer.alloc(Math.max(this.#size - position, 0));
    let read = 0;
    while (read < bytes.length) {
      const { bytesRead } = await this.#file.read(bytes, read, bytes.length - read, position + read);
      if (bytesRead === 0) break;
      read += bytesRead;
    }
    return bytes.subarray(0, read);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#file.close();
  }
}

async function openOrCreate(path: string): Promise<FileHandle> {
  try {
    // Not in append mode, in which a write cannot choose its position.
    return await open(path, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o600);
  } catch (error) {
    // What a link leads to can be a file of anything else, and would be cut and written to.
    if ((error as NodeJS.ErrnoException).code !== "ELOOP") throw error;
    throw new Error(`'${path}' is a link: put the file itself in its place`, { cause: error });
  }
}

/** Makes the names of a directory's files durable. */
export async function syncDirectory(path: string): Promise<void> {
  await using directory = await open(path);
  await directory.sync();
}

const OWNER_ONLY = 0o600;
const INITIAL_BYTES = 65_536;

/** A buffer that became longer for one group is not retained. */
const MAX_KEPT_BYTES = 4_194_304;

/** Maximum number of bytes of a UTF-16 code unit in UTF-8. */
const MAX_UNIT_BYTES = 3;
const NEWLINE = 0x0a;

/** Lines as bytes, in a buffer that is used again. */
export class LineBuffer {
  #buffer = Buffer.allocUnsafeSlow(INITIAL_BYTES);
  #length = 0;

  /** The lines, each with a newline. Valid until the buffer is cleared. */
  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  /** Removes all lines. */
  clear(): this {
    this.#length = 0;
    if (this.#buffer.length > MAX_KEPT_BYTES) this.#buffer = Buffer.allocUnsafeSlow(INITIAL_BYTES);
    return this;
  }

  /** Adds a line, and returns its bytes without the newline. They are valid until the next line is added. */
  add(line: string): Buffer {
    const start = this.#length;
    const needed = start + line.length * MAX_UNIT_BYTES + 1;
    if (needed > this.#buffer.length) this.#grow(needed);
    const end = start + this.#buffer.write(line, start);
    this.#buffer[end] = NEWLINE;
    this.#length = end + 1;
    return this.#buffer.subarray(start, end);
  }

  #grow(needed: number): void {
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, this.#buffer.length * 2));
    this.#buffer.copy(grown, 0, 0, this.#length);
    this.#buffer = grown;
  }
}

/**
 * Creates a file. What has the path already is removed: it could be a link, and nothing is written to where it leads.
 *
 * @param mode Default: only its owner can read and write it.
 */
export async function createFile(path: string, mode: number = OWNER_ONLY): Promise<FileHandle> {
  await rm(path, { force: true });
  return open(path, "wx", mode);
}

/**
 * Writes a file as a whole, and makes it durable. If it rejects, or the process ends, what has the path is as it was.
 *
 * @param mode See {@link createFile}.
 */
export async function replaceFile(path: string, content: string | Uint8Array, mode?: number): Promise<void> {
  const part = `${path}.part`;
  try {
    {
      await using file = await createFile(part, mode);
      await file.writeFile(content);
      await file.datasync();
    }
    await rename(part, path);
  } catch (error) {
    await rm(part, { force: true }).catch(() => {});
    throw error;
  }
}
