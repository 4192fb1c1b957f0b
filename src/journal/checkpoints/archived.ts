import { constants } from "node:fs";
import { lstat, open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { JournalError } from "../journal-error.ts";
import { readWhole } from "../storage/line-reader.ts";
import {
  checkNote,
  type NoteCheck,
  parseNote,
  type SignedNote,
  type SigningKey,
  signNote,
  type VerifierKey,
} from "./signed-note.ts";

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

/** Where the file is written first. */
function partOf(directory: string): string {
  return `${archivedFile(directory)}.part`;
}

/** The content has a key's name and a signature: it is far shorter. */
const RESERVED_BYTES = 4_096;

/**
 * Takes the space that the file will need, so that files can also be moved away from a disk that is full. A disk on which there is
 * none any more is no error.
 */
export async function reserveArchived(directory: string): Promise<void> {
  try {
    await using file = await open(partOf(directory), "wx", 0o600);
    await file.writeFile(Buffer.alloc(RESERVED_BYTES));
    await file.datasync();
  } catch {
    // It is there, or the disk is full.
  }
}

/**
 * Writes the file. It is signed if there is a key.
 *
 * @throws what the file system throws, as a rejection: the file is as it was then.
 */
export async function writeArchived(
  directory: string,
  records: ArchivedRecords,
  key: SigningKey | undefined,
): Promise<void> {
  const part = partOf(directory);
  // Nothing is written to where a link leads.
  const found = await lstat(part).catch(() => undefined);
  if (found !== undefined && !(found.isFile() && found.nlink === 1)) await rm(part);
  await reserveArchived(directory);
  {
    await using file = await open(part, constants.O_RDWR | constants.O_NOFOLLOW);
    const { bytesWritten } = await file.write(archivedText(records, key), 0);
    await file.truncate(bytesWritten);
    await file.datasync();
  }
  await rename(part, archivedFile(directory));
}

function archivedText({ records, digest }: ArchivedRecords, key: SigningKey | undefined): string {
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

/** Checks the signature of the note that records were archived. */
export function checkArchived({ note }: ArchiveNote, trusted: readonly VerifierKey[]): NoteCheck {
  return note === undefined ? "other" : checkNote(note, trusted);
}
