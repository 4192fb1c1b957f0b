import { JournalError } from "../journal-error.ts";
import type { FileLine } from "./line-reader.ts";
import { MAX_LINE_BYTES, openFile } from "./line-reader.ts";

const CHUNK_BYTES = 262_144;
const NEWLINE = 0x0a;

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
      const size = Math.min(Math.max(CHUNK_BYTES, rest.length), position);
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
