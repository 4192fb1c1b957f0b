import { stat } from "node:fs/promises";
import { type JournalEntry, parseEntry } from "../line/entry.ts";
import type { JournalPosition } from "../read/read-journal.ts";
import { listFiles } from "../storage/file-names.ts";
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
  const file = (await listFiles(directory)).findLast(({ firstSeq }) => firstSeq <= seq);
  if (file === undefined) return undefined;
  const found = await firstFrom(file.path, (entry) => entry.seq >= seq);
  return { file: file.path, offset: found?.start ?? (await stat(file.path)).size };
}

/**
 * Finds the first record that is not before a time, in the same way.
 *
 * @param time In milliseconds since the epoch.
 * @returns `undefined` if every record is before it.
 * @throws like {@link findRecord}.
 */
export async function findTime(directory: string, time: number): Promise<JournalEntry | undefined> {
  const isLater = ({ at }: JournalEntry): boolean => at >= time;
  let found: JournalEntry | undefined;
  for (const { path } of (await listFiles(directory)).reverse()) {
    const first = (await firstRecord(path, 0, 1, true, () => true))?.entry;
    const isBefore = first !== undefined && !isLater(first);
    found = (isBefore ? (await firstFrom(path, isLater))?.entry : first) ?? found;
    if (isBefore) break;
  }
  return found;
}

/** The first record of a file from which on all records are wanted. */
async function firstFrom(
  path: string,
  isWanted: (entry: JournalEntry) => boolean,
): Promise<FoundRecord | undefined> {
  const { size } = await stat(path);
  let [from, to] = [0, size];
  while (to - from > SMALL_BYTES) {
    const middle = from + Math.floor((to - from) / 2);
    const found = await firstRecord(path, middle, to, false, () => true);
    if (found !== undefined && !isWanted(found.entry)) from = found.start;
    else to = middle;
  }
  return firstRecord(path, from, size, true, isWanted);
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
