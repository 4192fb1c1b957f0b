import { isUtf8 } from "node:buffer";
import { openFile } from "../../../workspace/entries.ts";
import { WorkspaceError } from "../../../workspace/error.ts";
import type { WorkspaceFile } from "../../../workspace/file.ts";
import type { Location } from "../../../workspace/locate.ts";

/** Maximum number of bytes that are read from a file. */
const MAX_BYTES: number = 16 * 1_024 * 1_024;

/** Maximum number of bytes that one system call reads. */
const MAX_STEP: number = 1_024 * 1_024;

/**
 * Maximum number of bytes that are read in this thread. Handing a read to another thread takes longer than
 * copying this much from the system's cache. If the disk is slow, the thread is blocked for one read of this
 * size.
 */
const MAX_SYNC_BYTES: number = 256 * 1_024 + 1;

/** Reads a file as UTF-8. */
export async function readText(at: Location): Promise<string> {
  const bytes = await readAll(at);
  if (!isUtf8(bytes)) throw new WorkspaceError("illegal-byte-sequence", "the file is not UTF-8 text");
  return bytes.toString("utf8");
}

/** Reads a file of at most 16 MiB. */
export function readAll(at: Location): Buffer | Promise<Buffer> {
  return withFile(at, (file) => readFrom(file, 0, MAX_BYTES + 1, tooLarge));
}

/** Reads at most 16 MiB at an offset: as much as the file has there. */
export function readRange(at: Location, offset: number, length: number): Buffer | Promise<Buffer> {
  if (!isCount(offset) || !isCount(length)) {
    throw new TypeError("context.files takes only integers from 0 as offsets and lengths");
  }
  if (length > MAX_BYTES) throw tooLarge();
  return withFile(at, (file) => readFrom(file, offset, length));
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function tooLarge(): WorkspaceError {
  return new WorkspaceError("file-too-large", "it is larger than 16 MiB, the most that can be read at once");
}

function withFile(
  { directory, path }: Location,
  read: (file: WorkspaceFile) => Buffer | Promise<Buffer>,
): Buffer | Promise<Buffer> {
  const file = openFile(directory, path, { read: true, follow: true });
  let reading: Buffer | Promise<Buffer> | undefined;
  try {
    reading = read(file);
    return reading instanceof Promise ? reading.finally(() => file.close()) : reading;
  } finally {
    if (!(reading instanceof Promise)) file.close();
  }
}

/** @param refuse Returns the error for a file that has that many bytes. Default: what is behind them is left out. */
function readFrom(
  file: WorkspaceFile,
  offset: number,
  most: number,
  refuse?: () => WorkspaceError,
): Buffer | Promise<Buffer> {
  const size = Math.max(0, file.sizeAtOpen - offset);
  if (refuse !== undefined && size >= most) throw refuse();
  // With one byte more than there seem to be, a read that fills less has come to the end.
  const bytes = Buffer.allocUnsafeSlow(Math.min(most, size + 1));
  if (bytes.length <= MAX_SYNC_BYTES) {
    const length = file.readInto(bytes, offset);
    if (length < bytes.length && length >= size) return bytes.subarray(0, length);
  }
  return readLater(file, offset, { bytes, size, most, refuse });
}

interface Reading {
  readonly bytes: Buffer;
  readonly size: number;
  readonly most: number;
  readonly refuse: (() => WorkspaceError) | undefined;
}

async function readLater(file: WorkspaceFile, offset: number, reading: Reading): Promise<Buffer> {
  const { size, most, refuse } = reading;
  let { bytes } = reading;
  for (let length = 0; ; ) {
    const part = bytes.subarray(length, length + MAX_STEP);
    const count = part.length === 0 ? 0 : await file.readIntoLater(part, offset + length);
    length += count;
    if (refuse !== undefined && length >= most) throw refuse();
    const isEnd = count < part.length && (count === 0 || length >= size);
    if (isEnd || length >= most) return bytes.subarray(0, length);
    // It has grown since it was opened.
    if (length === bytes.length) {
      const longer = Buffer.allocUnsafeSlow(Math.min(most, 2 * length));
      bytes.copy(longer);
      bytes = longer;
    }
  }
}
