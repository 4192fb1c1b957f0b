import type { FileHandle } from "node:fs/promises";

const PAGE_BYTES = 4_096;
const CHUNK_BYTES = 4 * 1_024 * 1_024;
const ZEROS = Buffer.alloc(PAGE_BYTES);

/** A place in a file, from which or to which is copied. */
export interface FilePosition {
  readonly file: FileHandle;
  readonly offset: number;
}

/**
 * Copies the remainder of a file, which is a machine's memory, to the end of another file. Pages of zeros
 * become holes, which take no space.
 */
export async function copyMemory(from: FilePosition, to: FilePosition): Promise<void> {
  const chunk = Buffer.alloc(CHUNK_BYTES);
  let position = 0;
  for (;;) {
    const { bytesRead } = await from.file.read(chunk, 0, CHUNK_BYTES, from.offset + position);
    if (bytesRead === 0) break;
    for (const [start, end] of filledRuns(chunk.subarray(0, bytesRead)))
      await writeAll(to.file, chunk.subarray(start, end), to.offset + position + start);
    position += bytesRead;
  }
  await to.file.truncate(to.offset + position);
}

async function writeAll(file: FileHandle, data: Uint8Array, offset: number): Promise<void> {
  for (let written = 0; written < data.length; )
    written += (await file.write(data, written, data.length - written, offset + written)).bytesWritten;
}

/** The next multiple of the size of a page. */
export function pageEnd(bytes: number): number {
  return Math.ceil(bytes / PAGE_BYTES) * PAGE_BYTES;
}

/** The parts of a chunk that consist of pages with other bytes than zeros. */
function* filledRuns(chunk: Buffer): Generator<readonly [start: number, end: number]> {
  let start: number | undefined;
  for (let at = 0; at < chunk.length; at += PAGE_BYTES) {
    const page = chunk.subarray(at, at + PAGE_BYTES);
    if (!page.equals(ZEROS.subarray(0, page.length))) start ??= at;
    else if (start !== undefined) {
      yield [start, at];
      start = undefined;
    }
  }
  if (start !== undefined) yield [start, chunk.length];
}
