import { existsSync } from "node:fs";
import { loadCrypto } from "../../base/load-crypto.ts";
import { type ArchiveNote, checkArchived, readArchived } from "../checkpoints/archived.ts";
import type { VerifierKey } from "../checkpoints/signed-note.ts";
import { JournalError } from "../journal-error.ts";
import { isCanonicalLine, type JournalEntry, NO_LINE, parseEntry } from "../line/entry.ts";
import {
  besideFile,
  type JournalFileName,
  journalFile,
  listFiles,
  listStrays,
} from "../storage/file-names.ts";
import { LineReader, readWhole } from "../storage/line-reader.ts";
import type { CheckpointCheck } from "./checkpoint-check.ts";
import { type Break, beginsFile, type ChainStart, readChain } from "./checkpoint-check.ts";
import type { JournalContradiction, JournalReport } from "./report.ts";

interface ReadLine {
  readonly entry: JournalEntry | undefined;
  readonly bytes: Buffer;
  readonly digest: string;
}

/**
 * Finds out what happened where a chain is broken: a line that was changed, for example, contradicts the line after
 * it, and a line that was inserted has a neighbour that continues the line before it.
 */
async function diagnose(
  broken: Break,
  files: readonly JournalFileName[],
  checkpoints: CheckpointCheck | undefined,
): Promise<JournalContradiction> {
  const { before, secondBefore, expected, file } = broken;
  const [line, next] = await readLines(broken, files, 2);
  const entry = line?.entry;
  const found = (kind: JournalContradiction["kind"], seq: number, message: string, through = seq) => ({
    kind,
    seq,
    file: file.path,
    message,
    ...(through > seq && { through }),
  });
  const changed = (seq: number) => found("changed", seq, `record ${seq} was changed`);
  const inserted = (seq: number) => found("inserted", seq, `a record was inserted as record ${seq}`);
  const moved = (seq: number, after: number) =>
    found("order", seq, `record ${seq} stands after record ${after}`);
  const isElsewhere = (seq: number) => hasRecord(broken, files, seq);
  if (line === undefined || (entry === undefined && next?.entry?.prev !== before)) {
    return found("unreadable", expected, `the line of record ${expected} is no record`);
  }
  // A line that stands twice is inserted behind itself.
  if (entry === undefined || line.digest === before) return inserted(expected);
  const { path = file.path } = (broken.isFirst && files.find(({ firstSeq }) => firstSeq === entry.seq)) || {};
  if (path !== file.path && (next?.entry === undefined || next.entry.seq === entry.seq + 1)) {
    return found("file", expected, `the file has the records of '${path}'`);
  }
  if (next?.entry?.prev === before) {
    const isMoved = entry.seq > expected && !(await isElsewhere(entry.seq));
    return isMoved ? moved(expected, entry.seq) : inserted(expected);
  }
  if (entry.prev === before) {
    if (entry.seq !== expected || isIntact(line, next, expected, checkpoints) === false)
      return changed(expected);
    if (broken.isFirst && !beginsFile(entry, file))
      return found(
        "file",
        expected,
        `the file does not begin with record ${file.firstSeq}, or not as one that goes on`,
      );
    if (!isCanonicalLine(line.bytes, entry))
      return found("unreadable", expected, `the line of record ${expected} is not canonical JSON`);
    return found("clock", expected, `record ${expected} is earlier than the one before it`);
  }
  if (entry.prev === secondBefore) return inserted(expected - 1);
  if (entry.seq < expected) return inserted(expected);
  if (entry.seq > expected) {
    if (await isElsewhere(expected)) return moved(expected, entry.seq);
    return found("missing", expected, `records ${expected} to ${entry.seq - 1} are missing`, entry.seq - 1);
  }
  const isLineIntact = isIntact(line, next, expected, checkpoints);
  if (isLineIntact !== undefined) return changed(isLineIntact ? expected - 1 : expected);
  const isBeforeIntact = checkpoints?.agrees(expected - 1, before);
  if (isBeforeIntact !== undefined) return changed(isBeforeIntact ? expected : expected - 1);
  const message = `record ${expected - 1} or record ${expected} was changed`;
  return found("changed", expected - 1, message, expected);
}

/** Whether a line is the one that was written; `undefined` if neither the next line nor a checkpoint shows it. */
function isIntact(
  { digest }: ReadLine,
  next: ReadLine | undefined,
  seq: number,
  checkpoints: CheckpointCheck | undefined,
): boolean | undefined {
  return next?.entry?.seq === seq + 1 ? next.entry.prev === digest : checkpoints?.agrees(seq, digest);
}

async function readLines(from: Break, files: readonly JournalFileName[], count: number): Promise<ReadLine[]> {
  const lines: ReadLine[] = [];
  for await (const line of linesFrom(from, files)) {
    lines.push(line);
    if (lines.length === count) break;
  }
  return lines;
}

/** Whether a record stands after the line that does not continue the chain. */
async function hasRecord(from: Break, files: readonly JournalFileName[], seq: number): Promise<boolean> {
  let isFirst = true;
  for await (const { entry } of linesFrom(from, files)) {
    if (!isFirst && entry?.seq === seq) return true;
    isFirst = false;
  }
  return false;
}

async function* linesFrom(
  { fileIndex, start, isTorn }: Break,
  files: readonly JournalFileName[],
): AsyncGenerator<ReadLine, void, undefined> {
  const { hash } = loadCrypto();
  if (isTorn) yield { entry: undefined, bytes: Buffer.alloc(0), digest: "" };
  for (const [index, { path }] of files.slice(fileIndex).entries()) {
    for await (const lines of new LineReader(path).batches(index === 0 ? start : 0)) {
      for (const { bytes } of lines)
        yield { entry: parseEntry(bytes.toString()), bytes, digest: hash("sha256", bytes) };
    }
  }
}

/** Checks that the sealed arguments which records name stand beside them, as they were written. */
class SealedCheck {
  /** Whether the files are a whole directory. Copies of some files may be without their sealed arguments. */
  readonly #isWhole: boolean;
  /** The records of the file that is being read, by the digests of their sealed arguments. */
  #wanted = new Map<string, number>();
  #before: string | undefined;
  #problem: JournalContradiction | undefined;

  constructor({ isWhole }: { readonly isWhole: boolean }) {
    this.#isWhole = isWhole;
  }

  /** The first contradiction. */
  get problem(): JournalContradiction | undefined {
    return this.#problem;
  }

  /** Notes the next record. */
  follow({ sealed, seq }: JournalEntry): void {
    if (typeof sealed === "string" && !this.#wanted.has(sealed)) this.#wanted.set(sealed, seq);
  }

  /** Compares the records since the last call with what stands beside their file. */
  async endFile({ path }: JournalFileName): Promise<void> {
    const file = besideFile(path, "sealed");
    const before = this.#before;
    this.#before = file;
    const wanted = this.#wanted;
    this.#wanted = new Map();
    if (wanted.size === 0 || this.#problem !== undefined) return;
    if (!this.#isWhole && !existsSync(file)) return;
    await strike(wanted, file);
    // The first records of a file could have theirs beside the file before, in journals of earlier versions.
    if (wanted.size > 0 && before !== undefined) await strike(wanted, before);
    const [seq] = wanted.values();
    if (seq === undefined) return;
    const message = `the sealed arguments of record ${seq} were changed, or are missing`;
    this.#problem = { kind: "sealed", seq, file, message };
  }
}

/** The files of a journal, as they are before its records are read. */
export interface FoundFiles {
  /** In the order of the chain. */
  readonly files: readonly JournalFileName[];
  /** The paths and texts of checkpoints. */
  readonly checkpoints: readonly (readonly [path: string, text: string])[];
  /** What stands beside files with records that are not there. */
  readonly strays: readonly JournalFileName[];
  /** What was moved away from the beginning. Default: the files must begin the journal. */
  readonly archived?: ArchiveNote;
  /** Whether the first file must begin the journal, or continue where its archive ends. */
  readonly isWhole: boolean;
}

/**
 * Checks the chain of a journal's files, and that it matches its checkpoints.
 *
 * @param check The checkpoints to compare with.
 * @param keys The keys that are trusted. Default: none, so that signatures are not checked.
 * @param onEntry Called with each record up to which the chain is intact.
 */
export async function verifyChain(
  found: FoundFiles,
  check: CheckpointCheck,
  keys: readonly VerifierKey[],
  onEntry?: (entry: JournalEntry) => void,
): Promise<JournalReport> {
  const { files, archived } = found;
  const start = startOf(found);
  const signed = keys.length === 0 ? 0 : check.last;
  const sealed = new SealedCheck(found);
  const endFile = (file: JournalFileName): Promise<void> => sealed.endFile(file);
  const chain = await readChain({ files, start, signed, endFile }, (entry, digest) => {
    onEntry?.(entry);
    sealed.follow(entry);
    const { seq, type, key } = entry;
    if (type === "journal.opened" && typeof key === "string") check.openedWith(key, seq);
    return archived?.records === seq && archived.digest !== digest
      ? otherArchive(archived)
      : check.follow(seq, digest);
  });
  const { first, torn, stopped } = chain;
  // Without a record left, the chain ends with what was archived.
  const last = first === 0 && start !== undefined ? start.seq - 1 : chain.last;
  const contradiction =
    stopped ??
    (chain.break
      ? await diagnose(chain.break, files, check)
      : (check.finish(last) ?? strayFile(found, last) ?? cutAfterArchive(found, last)));
  const problem = (archived && untrustedArchive(archived, keys)) ?? earlier(contradiction, sealed.problem);
  return {
    first,
    last,
    ...(archived && (start?.seq ?? 1) > 1 && { archived: archived.records }),
    ...(torn && { torn }),
    ...(problem && { contradiction: problem }),
    ...(keys.length > 0 && { checkpoints: check.summary(last) }),
  };
}

/** `undefined` if the first file may begin anywhere. */
function startOf({ files, isWhole, archived }: FoundFiles): ChainStart | undefined {
  if (!isWhole) return undefined;
  const first = files[0]?.firstSeq;
  if (archived === undefined || first === 1) return { seq: 1, prev: NO_LINE };
  // Moving the files away was interrupted: the record that the archive ends with is among these.
  if (first !== undefined && first <= archived.records) return undefined;
  return { seq: archived.records + 1, prev: archived.digest };
}

function earlier(
  one: JournalContradiction | undefined,
  other: JournalContradiction | undefined,
): JournalContradiction | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return other.seq < one.seq ? other : one;
}

/** The last file is never archived, and has a record. */
function cutAfterArchive({ archived, isWhole }: FoundFiles, last: number): JournalContradiction | undefined {
  if (!isWhole || archived === undefined || last > archived.records) return undefined;
  const { path: file, records } = archived;
  const message = `the records after record ${records}, up to which they were archived, are missing`;
  return { kind: "cut", seq: last + 1, file, message };
}

function otherArchive({ path, records }: ArchiveNote): JournalContradiction {
  const message = `record ${records} is not the one with which the archived records end`;
  return { kind: "rewritten", seq: records, file: path, message };
}

function untrustedArchive(
  archived: ArchiveNote,
  keys: readonly VerifierKey[],
): JournalContradiction | undefined {
  const { path, records } = archived;
  const check = keys.length === 0 ? "signed" : checkArchived(archived, keys);
  if (check === "signed") return undefined;
  const place = { seq: 1, through: records, file: path };
  return check === "forged"
    ? {
        kind: "forged",
        ...place,
        message: `that records 1 to ${records} were archived has a wrong signature`,
      }
    : { kind: "key", ...place, message: `no given key signed that records 1 to ${records} were archived` };
}

/** Finds a file beside one with records that is not there. */
function strayFile({ strays, archived }: FoundFiles, last: number): JournalContradiction | undefined {
  const stray = strays.find(({ firstSeq }) => firstSeq > (archived?.records ?? 0));
  if (stray === undefined) return undefined;
  const { path: file, firstSeq } = stray;
  return firstSeq > last
    ? { kind: "cut", seq: last + 1, file, message: `the records beside which '${file}' stands are missing` }
    : { kind: "file", seq: firstSeq, file, message: `'${file}' stands beside no file of the journal` };
}

/**
 * Finds the files of a journal, and reads its checkpoints.
 *
 * @throws {JournalError} as a rejection, if the directory cannot be read.
 */
export async function findFiles(directory: string): Promise<FoundFiles> {
  try {
    const files = await listFiles(directory);
    const archived = await readArchived(directory);
    const strays = await listStrays(directory);
    const beside = [...files, ...strays].map(({ firstSeq }) =>
      besideFile(journalFile(directory, firstSeq), "checkpoints"),
    );
    const checkpoints = await readAll([...new Set(beside)].sort());
    return { files, checkpoints, strays, isWhole: true, ...(archived && { archived }) };
  } catch (error) {
    if (error instanceof JournalError) throw error;
    throw new JournalError(`the journal in '${directory}' cannot be read: ${(error as Error).message}`);
  }
}

/** Returns the paths and the texts of those files that exist. */
export async function readAll(paths: readonly string[]): Promise<FoundFiles["checkpoints"]> {
  const read = await Promise.all(
    paths.map(async (path) => {
      const text = await readWhole(path);
      return text === undefined ? [] : [[path, text] as const];
    }),
  );
  return read.flat();
}

/** Removes the lines of a file from `wanted`. */
async function strike(wanted: Map<string, number>, file: string): Promise<void> {
  if (!existsSync(file)) return;
  for await (const lines of new LineReader(file).batches()) {
    for (const { bytes } of lines) wanted.delete(loadCrypto().hash("sha256", bytes));
    if (wanted.size === 0) return;
  }
}
