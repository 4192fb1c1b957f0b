import { isNewerFormat, newerFormatText } from "../../base/file-format.ts";
import { JournalError } from "../journal-error.ts";
import type { JournalEntry } from "./entry.ts";

/** The format of a journal's records, which each record that begins a process or a file has. */
export const JOURNAL_FORMAT = 1;

/**
 * @param path Of the file.
 * @throws {JournalError} if the record says that those after it have a newer format.
 */
export function refuseNewerFormat({ type, format }: JournalEntry, path: string): void {
  const tells = type === "journal.opened" || type === "journal.rotated";
  if (tells && isNewerFormat(format, JOURNAL_FORMAT))
    throw new JournalError(`the journal '${path}' ${newerFormatText(format, JOURNAL_FORMAT)}`);
}
