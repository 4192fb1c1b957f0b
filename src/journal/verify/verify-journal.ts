import { readVerifierKey } from "../checkpoints/note-keys.ts";
import { type JournalEntry, parseEntry } from "../line/entry.ts";
import { besideFile, type JournalFileName, parseFileName } from "../storage/file-names.ts";
import { LineReader } from "../storage/line-reader.ts";
import { CheckpointCheck } from "./checkpoint-check.ts";
import type { JournalReport } from "./report.ts";
import { type FoundFiles, findFiles, readAll, verifyChain } from "./verify-chain.ts";

/** The options of {@link verifyJournal}: a directory or files. */
export type VerifyOptions = VerifiedFiles & {
  /**
   * The texts of the keys that check checkpoints. A journal whose key was replaced needs the earlier ones, too. Default:
   * the journal is compared with its checkpoints, and their signatures are not checked.
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
  const check = new CheckpointCheck(trusted);
  // Read before the records: a journal in use goes on.
  const found = "directory" in options ? await findFiles(options.directory) : await given(options.files);
  for (const copy of copies) check.add(copy, "the copy", false);
  for (const [path, text] of found.checkpoints) check.add(text, path, true);
  return verifyChain(found, check, trusted);
}

async function given(paths: readonly string[]): Promise<FoundFiles> {
  const files = await inOrder(paths);
  const checkpoints = await readAll(files.map(({ path }) => besideFile(path, "checkpoints")));
  return { files, checkpoints, strays: [], isWhole: false };
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
