import { stat } from "node:fs/promises";
import { type JournalEntry, parseEntry } from "../line/entry.ts";
import type { JournalPosition } from "../read/read-journal.ts";
import { type JournalFileName, listFiles } from "../storage/file-names.ts";
import { type FileLine, LineReader } from "../storage/line-reader.ts";

/** A range of a file that is small enough to be read line by line. */
const SMALL_BYTES = 262_144;

/**
 * Finds the first record from a number on, without reading what is before it. In a journal that is not in order, it may be
 * another record.
 *
 * @returns its position, or the end of the last file that can have it; `undefined` if every file begins after the number.
 * @throws {JournalError} if a file cannot be read.
 */
export async function findRecord(directory: string, seq: number): Promise<JournalPosition | undefined> {
  const file = fileWith(await listFiles(directory), seq);
  return file && { file: file.path, offset: await offsetOf(file.path, seq) };
}

/** The last file that begins with the record or before it. */
function fileWith(files: readonly JournalFileName[], seq: number): JournalFileName | undefined {
  return files.findLast(({ firstSeq }) => firstSeq <= seq);
}

async function offsetOf(path: string, seq: number): Promise<number> {
  const { size } = await stat(path);
  let [from, to] = [0, size];
  while (to - from > SMALL_BYTES) {
    const middle = from + Math.floor((to - from) / 2);
    const found = await firstRecord(path, middle, to, false, () => true);
    if (found !== undefined && found.entry.seq < seq) from = found.start;
    else to = middle;
  }
  const found = await firstRecord(path, from, size, true, (entry) => entry.seq >= seq);
  return found?.start ?? size;
}

interface FoundRecord {
  readonly entry: JournalEntry;
  readonly start: number;
}

/** Returns the first record of a range that is wanted. @param isLineStart Whether the range begins with a line. */
async function firstRecord(
  path: string,
  from: number,
  to: number,
  isLineStart: boolean,
  isWanted: (entry: JournalEntry) => boolean,
): Promise<FoundRecord | undefined> {
  let isPart = !isLineStart;
  for await (const lines of new LineReader(path).batches(from)) {
    for (const { bytes, start } of lines as readonly FileLine[]) {
      if (start >= to) return undefined;
      const entry = isPart ? undefined : parseEntry(bytes.toString());
      isPart = false;
      if (entry !== undefined && isWanted(entry)) return { entry, start };
    }
  }
  return undefined;
}
