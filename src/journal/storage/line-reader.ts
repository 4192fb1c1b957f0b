import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { JournalError } from "../journal-error.ts";

/** A line of a file, without its newline. */
export interface FileLine {
  readonly bytes: Buffer;
  /** The position of its first byte in the file. */
  readonly start: number;
}

const CHUNK_BYTES = 1_048_576;
const BACKWARD_CHUNK_BYTES = 262_144;

/** No record is longer. A file without newlines must not fill the memory. */
export const MAX_LINE_BYTES = 33_554_432;
const NEWLINE = 0x0a;

/** Reads a file line by line, in batches, since waiting for each line would take longer than reading it. */
export class LineReader {
  /** The number of bytes after the last newline. Known once {@link batches} has ended. */
  tornBytes = 0;
  /** The position after the last newline. Known once {@link batches} has ended. */
  end = 0;
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  /**
   * Reads the file's complete lines.
   *
   * @param start The position of the first byte to read, which begins a line. Default: 0.
   * @throws {JournalError} if the file cannot be read, or has a line that is longer than any record.
   */
  async *batches(start = 0): AsyncGenerator<readonly FileLine[], void, undefined> {
    await using file = await openToRead(this.#path);
    let rest: Buffer = Buffer.alloc(0);
    this.end = start;
    for (let position = start; ; ) {
      const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
      const { bytesRead } = await file.read(chunk, 0, CHUNK_BYTES, position);
      position += bytesRead;
      if (bytesRead === 0) break;
      const read = chunk.subarray(0, bytesRead);
      const bytes = rest.length === 0 ? read : Buffer.concat([rest, read]);
      const lines: FileLine[] = [];
      let from = 0;
      for (let to = bytes.indexOf(NEWLINE); to >= 0; to = bytes.indexOf(NEWLINE, from)) {
        lines.push({ bytes: bytes.subarray(from, to), start: this.end + from });
        from = to + 1;
      }
      rest = bytes.subarray(from);
      this.end += from;
      if (rest.length > MAX_LINE_BYTES) throw new JournalError(`'${this.#path}' has a line that is too long`);
      if (lines.length > 0) yield lines;
    }
    this.tornBytes = rest.length;
  }
}

/**
 * Reads the complete lines of a file backwards, the last one first, in batches. The file may be in use: what stands after
 * its last newline is left out.
 *
 * @param end The position where a line ends or begins. Default: the end of the file.
 * @throws {JournalError} if the file cannot be read, or has a line that is longer than any record.
 */
export async function* backwardLines(
  path: string,
  end?: number,
): AsyncGenerator<readonly FileLine[], void, undefined> {
  try {
    await using file = await openFile(path);
    let position = end ?? (await file.stat()).size;
    let isLast = true;
    /** The beginning of what was read, up to its first newline: a part of a line. */
    let rest: Buffer = Buffer.alloc(0);
    while (position > 0) {
      // At least as much as is left of a long line, since the two are put together.
      const size = Math.min(Math.max(BACKWARD_CHUNK_BYTES, rest.length), position);
      position -= size;
      const chunk = Buffer.allocUnsafe(size);
      const { bytesRead } = await file.read(chunk, 0, size, position);
      let bytes = Buffer.concat([chunk.subarray(0, bytesRead), rest]);
      if (isLast) {
        bytes = bytes.subarray(0, bytes.lastIndexOf(NEWLINE) + 1);
        isLast = bytes.length === 0;
      }
      const first = position === 0 ? 0 : bytes.indexOf(NEWLINE) + 1;
      const lines = linesIn(bytes, first, position);
      rest = bytes.subarray(0, first);
      const isLong = ({ length }: Buffer): boolean => length > MAX_LINE_BYTES;
      if (isLong(rest) || lines.some(({ bytes: line }) => isLong(line)))
        throw new JournalError(`'${path}' has a line that is too long`);
      if (lines.length > 0) yield lines;
    }
  } catch (error) {
    if (error instanceof JournalError) throw error;
    throw new JournalError(`'${path}' cannot be read: ${(error as Error).message}`);
  }
}

/** The lines from an index on, the last one first. */
function linesIn(bytes: Buffer, first: number, position: number): readonly FileLine[] {
  const lines: FileLine[] = [];
  for (let from = first, to: number; from < bytes.length; from = to + 1) {
    to = bytes.indexOf(NEWLINE, from);
    lines.push({ bytes: bytes.subarray(from, to), start: position + from });
  }
  return lines.reverse();
}

/**
 * Reads a file as a whole; `undefined` if it does not exist.
 *
 * @throws {JournalError} as a rejection, if it cannot be read.
 */
export async function readWhole(path: string): Promise<string | undefined> {
  try {
    await using file = await openFile(path);
    return await file.readFile("utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw unreadable(path, error);
  }
}

async function openToRead(path: string): Promise<FileHandle> {
  try {
    return await openFile(path);
  } catch (error) {
    throw unreadable(path, error);
  }
}

/**
 * Opens a file to read it.
 *
 * @throws what the file system throws, and {@link TypeError} if there is something else, both as a rejection.
 */
export async function openFile(path: string): Promise<FileHandle> {
  // Opening a pipe would wait for its other end.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!(await file.stat()).isFile()) throw new TypeError("it is not a file");
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

function unreadable(path: string, error: unknown): JournalError {
  return new JournalError(`'${path}' cannot be read: ${(error as Error).message}`);
}
