import { stat } from "node:fs/promises";
import { JournalError } from "../journal-error.ts";
import { directoryOf, listFiles, parseFileName } from "../storage/file-names.ts";
import { type FileLine, LineReader } from "../storage/line-reader.ts";

/** A part of a journal's file: the lines that begin in it. */
export interface FileRange {
  /** The directory of the journal. */
  readonly directory: string;
  readonly path: string;
  /** In bytes. */
  readonly start: number;
  readonly end: number;
}

/** Large enough that threads rarely ask for the next one, and small enough that they end at about the same time. */
const RANGE_BYTES = 16_777_216;

/**
 * Splits the files of a journal into ranges, in the order of its records.
 *
 * @param place The directory of a journal, or one of its files.
 * @throws {JournalError} if the directory or a file cannot be read, or the directory has no journal.
 */
export async function rangesOf(place: string): Promise<readonly FileRange[]> {
  try {
    const directory = directoryOf(place);
    const file = parseFileName(place);
    const files = file === undefined ? await listFiles(place) : [file];
    if (files.length === 0) throw new Error("it has no files of a journal");
    const ranges: FileRange[] = [];
    for (const { path } of files) {
      const { size } = await stat(path);
      for (let start = 0; start < size; start += RANGE_BYTES) {
        ranges.push({ directory, path, start, end: Math.min(start + RANGE_BYTES, size) });
      }
    }
    return ranges;
  } catch (error) {
    throw new JournalError(`the journal in '${place}' cannot be read: ${(error as Error).message}`);
  }
}

/**
 * Reads the lines that begin in a range, in batches.
 *
 * @throws {JournalError} like {@link LineReader.batches}.
 */
export async function* linesOf({ path, start, end }: FileRange): AsyncGenerator<readonly FileLine[], void> {
  // The byte before the range ends a line, or else belongs to one that an earlier range has.
  for await (const lines of new LineReader(path).batches(Math.max(start - 1, 0))) {
    const from = lines.findIndex((line) => line.start >= start);
    if (from < 0) continue;
    const to = lines.findIndex((line) => line.start >= end);
    if (to >= 0) {
      if (to > from) yield lines.slice(from, to);
      return;
    }
    yield from === 0 ? lines : lines.slice(from);
  }
}
