import { loadCrypto } from "../../base/load-crypto.ts";
import type { JsonValue } from "../../json/value.ts";
import { readArchived } from "../checkpoints/archived.ts";
import { type KnownHead, KnownHeads } from "../checkpoints/checkpoint.ts";
import { JournalError } from "../journal-error.ts";
import { type CallNames, namesIn } from "../line/call-parts.ts";
import { type ChainHead, type JournalEntry, NO_LINE, parseEntry } from "../line/entry.ts";
import { refuseNewerFormat } from "../line/event-parts.ts";
import { type JournalFileName, journalFile, listFiles, listStrays } from "../storage/file-names.ts";
import { AppendFile, createFile } from "../storage/file-writing.ts";
import { backwardLines, LineReader } from "../storage/line-reader.ts";
import { OpenCalls } from "./open-calls.ts";

/** A journal's last file, ready for the next record. */
export interface RecoveredJournal {
  readonly file: AppendFile;
  /** The paths of the files before it. */
  readonly earlier: readonly string[];
  readonly head: ChainHead;
  /** The calls that were running when the journal was last written to. */
  readonly open: OpenCalls;
  /** The half-written line at the end of the journal, and where it was moved to. Default: none. */
  readonly torn?: { readonly path: string; readonly bytes: number };
}

/**
 * Opens the last file of a journal, or creates the first one, and moves a half-written line at its end to a file of its
 * own.
 *
 * @param published What checkpoints outside the directory say of the journal.
 * @throws {JournalError} if the last file is not a chain, does not continue the one before, or contradicts what is known.
 */
export async function recover(directory: string, published: readonly KnownHead[]): Promise<RecoveredJournal> {
  const files = await listFiles(directory);
  const last = files.at(-1) ?? { path: journalFile(directory, 1), firstSeq: 1 };
  await requireNothingAfter(directory, last);
  const known = new KnownHeads();
  for (const head of published) known.add(head);
  const file = await AppendFile.open(last.path);
  try {
    let end = await readEnd(last, known);
    const torn = end.tornBytes > 0 ? await moveTorn(file, end.size) : undefined;
    const before = files.at(-2);
    if (end.head !== undefined) await requireContinued(directory, last, end, before);
    // A crash can leave a new file without a record.
    else if (before !== undefined) end = await readEnd(before, known);
    const head = end.head ?? { seq: 0, digest: NO_LINE, at: 0 };
    if (end.head === undefined ? last.firstSeq !== 1 : head.seq < last.firstSeq - 1) {
      throw new JournalError(`records before those of '${last.path}' are missing`);
    }
    known.finish(head.seq);
    const earlier = files.slice(0, -1).map(({ path }) => path);
    return { file, earlier, head, open: end.open, ...(torn && { torn }) };
  } catch (error) {
    await file[Symbol.asyncDispose]();
    throw error;
  }
}

/** Files that were removed are not written anew: what stood beside them would contradict the new ones. */
async function requireNothingAfter(directory: string, { firstSeq }: JournalFileName): Promise<void> {
  const stray = (await listStrays(directory)).findLast((each) => each.firstSeq > firstSeq);
  const archived = await readArchived(directory);
  // The last file is never archived.
  const sign = archived !== undefined && archived.records >= firstSeq ? archived : stray;
  if (sign === undefined) return;
  throw new JournalError(
    `the last records of the journal are missing, as '${sign.path}' says: nothing can be added to it. See sandgate journal verify`,
  );
}

/** The last file could be one of another journal, or of an older copy. */
async function requireContinued(
  directory: string,
  { path, firstSeq }: JournalFileName,
  { prev }: FileEnd,
  before: JournalFileName | undefined,
): Promise<void> {
  const archived = await readArchived(directory);
  const isAfterArchived = before === undefined && archived?.records === firstSeq - 1;
  if (firstSeq > 1 && before === undefined && !isAfterArchived) return;
  const expected = isAfterArchived ? archived?.digest : await lastDigest(before);
  if (prev === expected) return;
  throw new JournalError(
    `'${path}' does not continue the records before it: nothing can be added to it. See sandgate journal verify`,
  );
}

async function lastDigest(file: JournalFileName | undefined): Promise<string> {
  if (file === undefined) return NO_LINE;
  for await (const [last] of backwardLines(file.path))
    if (last !== undefined) return loadCrypto().hash("sha256", last.bytes);
  return NO_LINE;
}

interface FileEnd {
  /** The digest that the first record has of the line before it. */
  readonly prev: string | undefined;
  readonly head: ChainHead | undefined;
  readonly open: OpenCalls;
  readonly tornBytes: number;
  readonly size: number;
}

async function readEnd({ path, firstSeq }: JournalFileName, known: KnownHeads): Promise<FileEnd> {
  await known.addBeside(path);
  const reader = new LineReader(path);
  const open = new OpenCalls();
  let head: ChainHead | undefined;
  let prev: string | undefined;
  for await (const lines of reader.batches()) {
    for (const { bytes } of lines) {
      const entry = parseEntry(bytes.toString());
      const seq = head === undefined ? firstSeq : head.seq + 1;
      if (entry?.seq !== seq || (head !== undefined && entry.prev !== head.digest)) {
        throw new JournalError(
          `'${path}' is damaged at record ${seq}: nothing can be added to it. See sandgate journal verify`,
        );
      }
      refuseNewerFormat(entry, path);
      follow(open, entry);
      prev ??= entry.prev;
      head = { seq, digest: loadCrypto().hash("sha256", bytes), at: entry.at };
      known.compare(seq, head.digest);
    }
  }
  return { prev, head, open, tornBytes: reader.tornBytes, size: reader.end };
}

/** Notes the calls that a record begins or ends. */
function follow(open: OpenCalls, entry: JournalEntry): void {
  switch (entry.type) {
    case "tool.call.dispatched":
      open.begin(namesIn(entry));
      break;
    case "tool.call.ended":
      open.end(namesIn(entry));
      break;
    case "journal.rotated":
      for (const names of entry["open"] as readonly JsonValue[]) open.begin(names as unknown as CallNames);
      break;
  }
}

async function moveTorn(file: AppendFile, end: number): Promise<{ path: string; bytes: number }> {
  const bytes = await file.readFrom(end);
  const path = `${file.path}.${end}.torn`;
  {
    await using torn = await createFile(path);
    await torn.writeFile(bytes);
    await torn.datasync();
  }
  await file.cutBack(end);
  await file.sync();
  return { path, bytes: bytes.length };
}
