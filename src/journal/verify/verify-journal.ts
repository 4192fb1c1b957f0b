import { readFile } from "node:fs/promises";
import { readVerifierKey } from "../checkpoints/note-keys.ts";
import { JournalError } from "../journal-error.ts";
import type { JournalEntry } from "../line/entry.ts";
import { parseEntry } from "../line/entry.ts";
import { besideFile, type JournalFileName, listFiles, parseFileName } from "../storage/file-names.ts";
import { LineReader } from "../storage/line-reader.ts";
import { readChain } from "./chain-check.ts";
import { CheckpointCheck } from "./checkpoint-check.ts";
import { diagnose } from "./diagnose.ts";
import type { JournalContradiction, JournalReport } from "./report.ts";

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
    for (const { path } of files) {
      const beside = besideFile(path, "checkpoints");
      check.add(await readOptional(beside), beside, true);
    }
  }
  const chain = await readChain(files, isWhole, (entry, digest) => follow(entry, digest, check));
  const { first, last, torn, stopped } = chain;
  const contradiction =
    stopped ?? (chain.break ? await diagnose(chain.break, files, check) : check?.finish(last));
  return {
    ...{ first, last },
    ...(torn && { torn }),
    ...(contradiction && { contradiction }),
    ...(check && { checkpoints: check.summary(last) }),
  };
}

function follow(
  entry: JournalEntry,
  digest: string,
  check: CheckpointCheck | undefined,
): JournalContradiction | undefined {
  if (check === undefined) return undefined;
  const { seq, type, key } = entry;
  if (type === "journal.opened" && typeof key === "string") check.openedWith(key, seq);
  return check.follow(seq, digest);
}

async function filesIn(directory: string): Promise<readonly JournalFileName[]> {
  try {
    return await listFiles(directory);
  } catch (error) {
    throw new JournalError(`the journal in '${directory}' cannot be read: ${(error as Error).message}`);
  }
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

async function readOptional(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch {
    return "";
  }
}
