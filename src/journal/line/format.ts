import { isNewerFormat, newerFormatText } from "../../base/file-format.ts";
import { JournalError } from "../journal-error.ts";
import type { JournalEntry } from "./entry.ts";

/** The format of a journal's records, which each record that begins a process or a file has. */
export const JOURNAL_FORMAT = 1;

/**
 * Returns an error if a record says that those after it have a newer format.
 *
 * @param path Of the file.
 */
export function newerFormat({ type, format }: JournalEntry, path: string): JournalError | undefined {
  const tells = type === "journal.opened" || type === "journal.rotated";
  if (!tells || !isNewerFormat(format, JOURNAL_FORMAT)) return undefined;
  return new JournalError(`the journal '${path}' ${newerFormatText(format, JOURNAL_FORMAT)}`);
}

/** @throws {JournalError} if a record says that those after it have a newer format. */
export function refuseNewerFormat(entry: JournalEntry, path: string): void {
  const error = newerFormat(entry, path);
  if (error !== undefined) throw error;
}
