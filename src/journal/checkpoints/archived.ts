import { join } from "node:path";
import { JournalError } from "../journal-error.ts";
import { readWhole } from "../storage/line-reader.ts";
import type { SigningKey, VerifierKey } from "./note-keys.ts";
import { checkNote, type NoteCheck, parseNote, type SignedNote, signNote } from "./signed-note.ts";

/** The records that were moved away from the beginning of a journal. */
export interface ArchivedRecords {
  /** The number of the last one. */
  readonly records: number;
  /** SHA-256 of its line without the newline, in hexadecimal digits. */
  readonly digest: string;
}

/** What the file says, before its signature is checked. */
export interface ArchiveNote extends ArchivedRecords {
  readonly path: string;
  /** Absent if the journal has no key. */
  readonly note?: SignedNote;
}

/** A checkpoint has no such line: neither can pass for the other. */
const TEXT = /^[^\n]*\n([1-9]\d{0,15})\n([A-Za-z0-9+/]{43}=)\narchived\n$/;

/** The path of the file that says where the chain of a journal begins. */
export function archivedFile(directory: string): string {
  return join(directory, "archived");
}

/** Returns the content of the file. It is signed if there is a key. */
export function archivedText({ records, digest }: ArchivedRecords, key: SigningKey | undefined): string {
  const text = `${key?.name ?? ""}\n${records}\n${Buffer.from(digest, "hex").toString("base64")}\narchived\n`;
  return key === undefined ? text : signNote(text, key);
}

/**
 * Reads what was moved away from a journal; `undefined` if nothing was.
 *
 * @throws {JournalError} as a rejection, if the file cannot be read or says something else.
 */
export async function readArchived(directory: string): Promise<ArchiveNote | undefined> {
  const path = archivedFile(directory);
  const content = await readWhole(path);
  if (content === undefined) return undefined;
  const note = parseNote(content);
  const [, records, digest = ""] = TEXT.exec(note?.text ?? content) ?? [];
  if (records === undefined || !Number.isSafeInteger(Number(records)))
    throw new JournalError(`'${path}' does not say which records were archived`);
  const archived = { path, records: Number(records), digest: Buffer.from(digest, "base64").toString("hex") };
  return note === undefined ? archived : { ...archived, note };
}

/** Checks who says that records were archived. */
export function checkArchived({ note }: ArchiveNote, trusted: readonly VerifierKey[]): NoteCheck {
  return note === undefined ? "other" : checkNote(note, trusted);
}
