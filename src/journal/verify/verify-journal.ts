import { readVerifierKey } from "../checkpoints/note-keys.ts";
import { type JournalEntry, parseEntry } from "../line/entry.ts";
import { type JournalFileName, parseFileName } from "../storage/file-names.ts";
import { LineReader } from "../storage/line-reader.ts";
import { CheckpointCheck } from "./checkpoint-check.ts";
import type { JournalReport } from "./report.ts";
import { checkpointsBeside, filesIn, verifyChain } from "./verify-chain.ts";

/** The options of {@link verifyJournal}: a directory or files. */
export type VerifyOptions = VerifiedFiles & {
  /**
   * The texts of the keys that check checkpoints. A journal whose key was replaced needs the earlier ones, too. Default:
   * checkpoints are not checked.
   */
  readonly keys?: readonly string[];
  /** Copies of checkpoints that were kept elsewhere: texts with any number of them. Default: none. */
  readonly checkpoints?: readonly string[];
};

type VerifiedFiles =
  | {
      /** The directory of a journal, which is checked from its first record on. */ readonly directory: string;
    }
  | { /** Some files of a journal, in any order. */ readonly files: readonly string[] };

/**
 * Checks that a journal is what was written: its chain, and that it matches its checkpoints. The journal may be in use.
 *
 * @throws {JournalError} if a file cannot be read.
 * @throws {TypeError} if a key is not valid.
 */
export async function verifyJournal(options: VerifyOptions): Promise<JournalReport> {
  const { keys = [], checkpoints: copies = [] } = options;
  const trusted = keys.map(readVerifierKey);
  const isWhole = "directory" in options;
  // Read before the records: a journal in use goes on.
  const check = trusted.length === 0 ? undefined : new CheckpointCheck(trusted);
  const files = isWhole ? await filesIn(options.directory) : await inOrder(options.files);
  if (check !== undefined) {
    for (const copy of copies) check.add(copy, "the copy", false);
    for (const [path, text] of await checkpointsBeside(files)) check.add(text, path, true);
  }
  return verifyChain(files, isWhole, check);
}

/** Copies of files may have other names: their first records tell their order. */
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
