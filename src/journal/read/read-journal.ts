import type { JournalEntry } from "../line/entry.ts";
import { parseEntry } from "../line/entry.ts";
import { refuseNewerFormat } from "../line/event-parts.ts";
import { listFiles } from "../storage/file-names.ts";
import { LineReader } from "../storage/line-reader.ts";

/** A place in a journal, from which it can be read on. */
export interface JournalPosition {
  readonly file: string;
  /** The position of a line in the file. */
  readonly offset: number;
}

/** Records that were read, and where to continue. */
export interface JournalBatch {
  readonly entries: readonly JournalEntry[];
  readonly next: JournalPosition;
}

/**
 * Reads the records of a journal, which may be in use, in batches. Lines that are no records are left out: `verifyJournal`
 * finds them.
 *
 * @param from Where to begin: the `next` of an earlier batch. Default: the first record.
 * @throws {JournalError} if a file cannot be read, or has a newer format.
 */
export async function* readJournal(
  directory: string,
  from?: JournalPosition,
): AsyncGenerator<JournalBatch, void, undefined> {
  for (const { path } of await listFiles(directory)) {
    if (from !== undefined && path < from.file) continue;
    const reader = new LineReader(path);
    for await (const lines of reader.batches(path === from?.file ? from.offset : 0)) {
      const last = lines.at(-1);
      const entries = lines
        .map(({ bytes }) => parseEntry(bytes.toString()))
        .filter((entry) => entry !== undefined);
      for (const entry of entries) refuseNewerFormat(entry, path);
      const offset = last === undefined ? 0 : last.start + last.bytes.length + 1;
      yield { entries, next: { file: path, offset } };
    }
  }
}
