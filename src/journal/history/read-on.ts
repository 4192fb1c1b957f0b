import type { JournalEntry } from "../line/entry.ts";
import { type JournalPosition, readJournal } from "../read/read-journal.ts";

/**
 * Reads the records from a position on, in batches, until so many bytes were read.
 *
 * @param signal Ends the reading with its reason.
 * @param onCut Called if there may be more records than were read.
 * @throws {JournalError} if a file cannot be read.
 */
export async function* readOn(
  directory: string,
  from: JournalPosition,
  maxBytes: number,
  signal: AbortSignal | undefined,
  onCut: () => void = () => {},
): AsyncGenerator<readonly JournalEntry[], void, undefined> {
  let [at, left] = [from, maxBytes];
  for await (const { entries, next } of readJournal(directory, from)) {
    signal?.throwIfAborted();
    yield entries;
    left -= next.file === at.file ? next.offset - at.offset : next.offset;
    if (left <= 0) {
      onCut();
      return;
    }
    at = next;
  }
}
