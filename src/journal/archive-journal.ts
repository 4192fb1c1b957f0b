import { constants, createReadStream, existsSync } from "node:fs";
import { copyFile, mkdir, open, readdir, rename, rm, stat, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { loadCrypto } from "../base/load-crypto.ts";
import { type OptionNames, refuseUnknown } from "../base/unknown-names.ts";
import { type ArchivedRecords, reserveArchived, writeArchived } from "./checkpoints/archived.ts";
import { readSigningKey, readVerifierKey } from "./checkpoints/signed-note.ts";
import { JournalError } from "./journal-error.ts";
import { parseEntry } from "./line/entry.ts";
import { besideFile, type JournalFileName, listFiles } from "./storage/file-names.ts";
import { syncDirectory } from "./storage/file-writing.ts";
import { LineReader } from "./storage/line-reader.ts";
import type { JournalContradiction } from "./verify/report.ts";
import { verifyBeginning } from "./verify/verify-journal.ts";

const NAMES: OptionNames<ArchiveOptions> = {
  directory: true,
  to: true,
  before: true,
  key: true,
  earlierKeys: true,
};

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
  /** The keys that check earlier checkpoints, if the key was replaced since. Requires `key`. Default: none. */
  readonly earlierKeys?: readonly string[];
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
 * last file stays. What is moved has to be sound, with checkpoints that the keys signed: an archive of a damaged journal would
 * hide the damage.
 *
 * @returns What was moved; `undefined` if no file is old enough.
 * @throws {JournalError} as a rejection, if the journal cannot be read or contradicts itself, or a file cannot be moved.
 * @throws {TypeError} as a rejection, if a key is not valid.
 */
export async function archiveJournal(options: ArchiveOptions): Promise<ArchivedFiles | undefined> {
  refuseUnknown(options, NAMES, "archiveJournal");
  const { directory, to, before } = options;
  const key = options.key === undefined ? undefined : readSigningKey(options.key);
  if (key === undefined && options.earlierKeys !== undefined)
    throw new TypeError("earlierKeys require a key");
  const trusted =
    key === undefined ? [] : [key.verifier, ...(options.earlierKeys ?? [])].map(readVerifierKey);
  try {
    const old = await oldFiles(await listFiles(directory), before);
    const last = old.at(-1);
    if (last === undefined) return undefined;
    if (key === undefined && existsSync(besideFile(last.path, "checkpoints")))
      throw new JournalError(
        "the journal has a key, which has to sign where its chain begins: give it as key (--key FILE), or name the config",
      );
    const { contradiction } = await verifyBeginning(directory, old, trusted);
    if (contradiction !== undefined) throw contradicts(directory, contradiction);
    const archived = await endOf(last);
    await createFolder(to);
    // First: a crash after it leaves files that the chain still begins with.
    await writeArchived(directory, archived, key);
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
    await reserveArchived(directory);
    await syncDirectory(to);
    await syncDirectory(directory);
    return { records: archived.records, files };
  } catch (error) {
    if (error instanceof JournalError) throw error;
    throw new JournalError(
      `the journal in '${directory}' cannot be archived: ${(error as Error).message}${whatToDo(error)}`,
    );
  }
}

function whatToDo(error: unknown): string {
  const { code = "", dest, path } = error as NodeJS.ErrnoException & { readonly dest?: string };
  const place = dest ?? path ?? "";
  if (["ENOSPC", "EDQUOT"].includes(code))
    return `; free some space for '${dirname(place)}', and run the command again: it continues from there`;
  if (["EACCES", "EPERM", "EROFS"].includes(code))
    return `; let this user write to '${dirname(place)}', and run the command again: it continues from there`;
  return "";
}

async function createFolder(path: string): Promise<void> {
  const mode = 0o700;
  await mkdir(path, { recursive: true, mode }).catch((error: NodeJS.ErrnoException) => {
    // Node.js says so of a file system that is read-only, too.
    if (error.code !== "ENOENT") throw error;
    return mkdir(path, { mode });
  });
}

function contradicts(directory: string, { kind, message }: JournalContradiction): JournalError {
  const remedy =
    kind === "key"
      ? "; if the key was replaced, give the earlier ones as earlierKeys (--earlier-key FILE)"
      : "";
  return new JournalError(`the journal in '${directory}' contradicts itself: ${message}${remedy}`);
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

/** Moves a file, also to another file system. It replaces none, except for a copy that an interrupted move left. */
async function move(from: string, to: string): Promise<void> {
  if (existsSync(to) && !(await isCopy(from, to))) throw new JournalError(`'${to}' already exists`);
  try {
    // On the same file system it takes no space, which the disk may not have.
    await rename(from, to);
    return;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EXDEV") throw error;
  }
  // A copy that is interrupted must not have the name of a whole one.
  const part = `${to}.part`;
  await rm(part, { force: true });
  await copyFile(from, part, constants.COPYFILE_EXCL);
  {
    await using file = await open(part, "r+");
    await file.datasync();
  }
  await rename(part, to);
  await syncDirectory(dirname(to));
  await unlink(from);
}

/** Whether a file on another file system has the same bytes. One on the same file system could be the file itself. */
async function isCopy(from: string, to: string): Promise<boolean> {
  const [one, other] = [await stat(from), await stat(to)];
  if (one.dev === other.dev || one.size !== other.size || !other.isFile()) return false;
  return (await digestOf(from)) === (await digestOf(to));
}

async function digestOf(path: string): Promise<string> {
  const hash = loadCrypto().createHash("sha256");
  for await (const bytes of createReadStream(path)) hash.update(bytes);
  return hash.digest("hex");
}
