import { dirname, resolve } from "node:path";
import { type OptionNames, refuseUnknown } from "../../base/unknown-names.ts";
import { readArchived } from "../checkpoints/archived.ts";
import { readVerifierKey, type VerifierKey } from "../checkpoints/signed-note.ts";
import { type JournalEntry, parseEntry } from "../line/entry.ts";
import {
  besideFile,
  type JournalFileName,
  journalFile,
  listFiles,
  listStrays,
  parseFileName,
} from "../storage/file-names.ts";
import { LineReader } from "../storage/line-reader.ts";
import { CheckpointCheck } from "./checkpoint-check.ts";
import type { JournalReport } from "./report.ts";
import { type FoundFiles, findFiles, readAll, verifyChain } from "./verify-chain.ts";

const DIRECTORY_NAMES: OptionNames<Extract<VerifyOptions, { readonly directory: string }>> = {
  directory: true,
  keys: true,
  checkpoints: true,
};
const FILES_NAMES: OptionNames<Extract<VerifyOptions, { readonly files: readonly string[] }>> = {
  files: true,
  keys: true,
  checkpoints: true,
};

/** The options of {@link verifyJournal}: a directory or files. */
export type VerifyOptions = VerifiedFiles & {
  /**
   * The texts of the keys that check checkpoints. A journal whose key was replaced needs the earlier ones, too. Default:
   * the journal is compared with its checkpoints, and their signatures are not checked.
   */
  readonly keys?: readonly string[];
  /** Copies of checkpoints that were stored elsewhere: texts with any number of them. Default: none. */
  readonly checkpoints?: readonly string[];
};

type VerifiedFiles =
  | {
      /** The directory of a journal, which is checked from its first record on. */ readonly directory: string;
    }
  | {
      /**
       * Some files of a journal, in any order. If they are all of their directory, what stands beside files that are missing there
       * contradicts.
       */
      readonly files: readonly string[];
    };

/**
 * Checks that a journal is what was written: its chain, and that it matches its checkpoints. The journal may be in use.
 *
 * @throws {JournalError} if a file cannot be read.
 * @throws {TypeError} if a key is not valid.
 */
export async function verifyJournal(options: VerifyOptions): Promise<JournalReport> {
  refuseUnknown(options, "directory" in options ? DIRECTORY_NAMES : FILES_NAMES, "verifyJournal");
  const { keys = [], checkpoints: copies = [] } = options;
  const trusted = keys.map(readVerifierKey);
  const check = new CheckpointCheck(trusted);
  // Read before the records: a journal in use grows.
  const found = "directory" in options ? await findFiles(options.directory) : await given(options.files);
  for (const copy of copies) check.add(copy, "the copy", false);
  for (const [path, text] of found.checkpoints) check.add(text, path, true);
  return verifyChain(found, check, trusted);
}

/**
 * Checks the first files of a journal, and that they begin it, or continue where its archive ends.
 *
 * @param keys The keys that are trusted. If there are none, signatures are not checked.
 * @throws {JournalError} as a rejection, if a file cannot be read.
 */
export async function verifyBeginning(
  directory: string,
  files: readonly JournalFileName[],
  keys: readonly VerifierKey[],
): Promise<JournalReport> {
  const archived = await readArchived(directory);
  // Moving files away was interrupted: some are gone already, with what stood beside them.
  const isInterrupted = (files[0]?.firstSeq ?? 0) <= (archived?.records ?? 0);
  const found = await given(files.map(({ path }) => path));
  const check = new CheckpointCheck(keys);
  for (const [path, text] of found.checkpoints) check.add(text, path, true);
  return verifyChain({ ...found, isWhole: !isInterrupted, ...(archived && { archived }) }, check, keys);
}

async function given(paths: readonly string[]): Promise<FoundFiles> {
  const files = await inOrder(paths);
  const strays = await straysOf(files);
  const besideStrays = strays.map(({ path, firstSeq }) => journalFile(dirname(path), firstSeq));
  const beside = [...files.map(({ path }) => path), ...besideStrays].map((path) =>
    besideFile(path, "checkpoints"),
  );
  const checkpoints = await readAll([...new Set(beside)]);
  return { files, checkpoints, strays, isWhole: false };
}

/** What `*.jsonl` leaves out of the directories of which all files were given: what stands beside files that are missing. */
async function straysOf(files: readonly JournalFileName[]): Promise<readonly JournalFileName[]> {
  const paths = new Set(files.map(({ path }) => resolve(path)));
  const sequences = new Set(files.map(({ firstSeq }) => firstSeq));
  const strays: JournalFileName[] = [];
  for (const directory of new Set(files.map(({ path }) => dirname(path)))) {
    const all = await listFiles(directory);
    if (!all.every(({ path }) => paths.has(resolve(path)))) continue;
    const found = await listStrays(directory);
    // Files before the first one that was given need not be here.
    strays.push(
      ...found.filter(({ firstSeq }) => !sequences.has(firstSeq) && firstSeq > (files[0]?.firstSeq ?? 0)),
    );
  }
  return strays;
}

/** Copies of files may have other names: their first records determine their order. */
async function inOrder(paths: readonly string[]): Promise<readonly JournalFileName[]> {
  const files: JournalFileName[] = [];
  for (const path of paths) {
    files.push(parseFileName(path) ?? { path, firstSeq: (await readFirst(path))?.seq ?? 1 });
  }
  return files.sort((a, b) => a.firstSeq - b.firstSeq);
}

async function readFirst(path: string): Promise<JournalEntry | undefined> {
  for await (const [line] of new LineReader(path).batches()) {
    return line === undefined ? undefined : parseEntry(line.bytes.toString());
  }
  return undefined;
}
