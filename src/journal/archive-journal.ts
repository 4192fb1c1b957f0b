import { constants, existsSync } from "node:fs";
import { copyFile, mkdir, open, readdir, rename, unlink } from "node:fs/promises";
import { basename, join } from "node:path";
import { loadCrypto } from "../base/load-crypto.ts";
import { type ArchivedRecords, archivedFile, archivedText } from "./checkpoints/archived.ts";
import { readSigningKey } from "./checkpoints/note-keys.ts";
import { JournalError } from "./journal-error.ts";
import { parseEntry } from "./line/entry.ts";
import { syncDirectory } from "./storage/append-file.ts";
import { besideFile, type JournalFileName, listFiles } from "./storage/file-names.ts";
import { LineReader } from "./storage/line-reader.ts";
import { verifyJournal } from "./verify/verify-journal.ts";

/** The options of {@link archiveJournal}: what is moved, and where. */
export interface ArchiveOptions {
  /** Of the journal, which may be in use. */
  readonly directory: string;
  /** The directory to which the files are moved. It is created if it does not exist. */
  readonly to: string;
  /** Only files all of whose records are earlier are moved, in milliseconds since the epoch. */
  readonly before: number;
  /**
   * The key that signs the journal's checkpoints: see `createJournalKeys`. It signs where the chain begins, too. Required if
   * there are checkpoints.
   */
  readonly key?: string;
}

/** What {@link archiveJournal} moved. */
export interface ArchivedFiles {
  /** How many records of the journal have been archived, with those of earlier archives. */
  readonly records: number;
  /** The names of the files that were moved, in the order in which they were moved. */
  readonly files: readonly string[];
}

/**
 * Moves the first files of a journal away, and writes to the file `archived` with which record its chain begins then. The
 * last file stays. What is moved has to be sound: an archive of a damaged journal would hide the damage.
 *
 * @returns What was moved; `undefined` if no file is old enough.
 * @throws {JournalError} as a rejection, if the journal cannot be read or contradicts itself, or a file cannot be moved.
 * @throws {TypeError} as a rejection, if the key is not valid.
 */
export async function archiveJournal(options: ArchiveOptions): Promise<ArchivedFiles | undefined> {
  const { directory, to, before } = options;
  const key = options.key === undefined ? undefined : readSigningKey(options.key);
  try {
    const old = await oldFiles(await listFiles(directory), before);
    const last = old.at(-1);
    if (last === undefined) return undefined;
    if (key === undefined && existsSync(besideFile(last.path, "checkpoints")))
      throw new JournalError("the journal has a key, which has to sign where its chain begins: give it");
    const { contradiction } = await verifyJournal({ files: old.map(({ path }) => path) });
    if (contradiction !== undefined)
      throw new JournalError(`the journal in '${directory}' contradicts itself: ${contradiction.message}`);
    const archived = await endOf(last);
    await mkdir(to, { recursive: true, mode: 0o700 });
    // First: a crash after it leaves files that the chain still begins with.
    await replace(archivedFile(directory), archivedText(archived, key));
    const files: string[] = [];
    for (const { path } of old) {
      const stem = basename(path, ".jsonl");
      const own = basename(path);
      const beside = (await readdir(directory)).filter((name) => name !== own && name.startsWith(`${stem}.`));
      // The records go last, so that nothing stands beside a file that is gone.
      for (const name of [...beside, own]) {
        await move(join(directory, name), join(to, name));
        files.push(name);
      }
    }
    await syncDirectory(to);
    await syncDirectory(directory);
    return { records: archived.records, files };
  } catch (error) {
    if (error instanceof JournalError) throw error;
    throw new JournalError(`the journal in '${directory}' cannot be archived: ${(error as Error).message}`);
  }
}

/** The files that are continued by one that began before a time: all their records are earlier. */
async function oldFiles(files: readonly JournalFileName[], before: number): Promise<JournalFileName[]> {
  const old: JournalFileName[] = [];
  for (const [index, file] of files.slice(0, -1).entries()) {
    const next = await firstTime(files[index + 1] as JournalFileName);
    // A crash can leave a new file without a record: the one before it is the last one then.
    if (next === undefined || next > before) break;
    old.push(file);
  }
  return old;
}

async function firstTime({ path }: JournalFileName): Promise<number | undefined> {
  for await (const [line] of new LineReader(path).batches())
    return line && parseEntry(line.bytes.toString())?.at;
  return undefined;
}

async function endOf({ path }: JournalFileName): Promise<ArchivedRecords> {
  let end: ArchivedRecords | undefined;
  for await (const lines of new LineReader(path).batches()) {
    const last = lines.at(-1);
    const records = last && parseEntry(last.bytes.toString())?.seq;
    if (records !== undefined) end = { records, digest: loadCrypto().hash("sha256", last?.bytes ?? "") };
  }
  if (end === undefined) throw new JournalError(`'${path}' has no records`);
  return end;
}

async function replace(path: string, text: string): Promise<void> {
  const part = `${path}.part`;
  {
    await using file = await open(part, "w", 0o600);
    await file.writeFile(text);
    await file.datasync();
  }
  await rename(part, path);
}

/** Moves a file, also to another file system. It replaces none. */
async function move(from: string, to: string): Promise<void> {
  await copyFile(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
  {
    await using file = await open(to, "r+");
    await file.datasync();
  }
  await unlink(from);
}
