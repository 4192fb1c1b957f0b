import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * A file to which whole groups of lines are appended. After a write that failed, the next one first cuts the file back to
 * the end of the last group that was written.
 */
export class AppendFile implements AsyncDisposable {
  readonly path: string;
  readonly #file: FileHandle;
  #size: number;
  #needsCut = false;

  private constructor(path: string, file: FileHandle, size: number) {
    this.path = path;
    this.#file = file;
    this.#size = size;
  }

  /** Opens a file, or creates it, readable for its owner only. */
  static async open(path: string): Promise<AppendFile> {
    // Not in append mode, in which a write cannot choose its position.
    const file = await open(path, constants.O_RDWR | constants.O_CREAT, 0o600);
    try {
      const { size } = await file.stat();
      if (size === 0) await syncDirectory(dirname(path));
      return new AppendFile(path, file, size);
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  /** The number of bytes that were written. */
  get size(): number {
    return this.#size;
  }

  /** Writes bytes at the end. If it rejects, none of them counts as written. */
  async append(bytes: Uint8Array): Promise<void> {
    if (this.#needsCut) await this.cutBack();
    this.#needsCut = true;
    for (let written = 0; written < bytes.length; ) {
      const left = bytes.length - written;
      written += (await this.#file.write(bytes, written, left, this.#size + written)).bytesWritten;
    }
    this.#size += bytes.length;
    this.#needsCut = false;
  }

  /** Waits until everything that was written is durable. */
  sync(): Promise<void> {
    return this.#file.datasync();
  }

  /** Cuts off the bytes from a position on, or those of a write that failed. */
  async cutBack(size: number = this.#size): Promise<void> {
    this.#needsCut = true;
    this.#size = size;
    await this.#file.truncate(size);
    this.#needsCut = false;
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

/** Makes the names of a directory's files durable. */
export async function syncDirectory(path: string): Promise<void> {
  await using directory = await open(path);
  await directory.sync();
}
