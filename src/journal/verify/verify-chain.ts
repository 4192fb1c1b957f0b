import { readFile } from "node:fs/promises";
import { JournalError } from "../journal-error.ts";
import type { JournalEntry } from "../line/entry.ts";
import { besideFile, type JournalFileName, listFiles } from "../storage/file-names.ts";
import { readChain } from "./chain-check.ts";
import type { CheckpointCheck } from "./checkpoint-check.ts";
import { diagnose } from "./diagnose.ts";
import type { JournalReport } from "./report.ts";

/**
 * Checks the chain of a journal's files, and that it matches its checkpoints.
 *
 * @param isWhole Whether the first file must begin the journal.
 * @param check Default: checkpoints are not checked.
 * @param onEntry Is called with each record whose chain holds.
 */
export async function verifyChain(
  files: readonly JournalFileName[],
  isWhole: boolean,
  check: CheckpointCheck | undefined,
  onEntry?: (entry: JournalEntry) => void,
): Promise<JournalReport> {
  const chain = await readChain(files, isWhole, (entry, digest) => {
    onEntry?.(entry);
    if (check === undefined) return undefined;
    const { seq, type, key } = entry;
    if (type === "journal.opened" && typeof key === "string") check.openedWith(key, seq);
    return check.follow(seq, digest);
  });
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

/** Lists the files of a journal. @throws {JournalError} as a rejection, if the directory cannot be read. */
export async function filesIn(directory: string): Promise<readonly JournalFileName[]> {
  try {
    return await listFiles(directory);
  } catch (error) {
    throw new JournalError(`the journal in '${directory}' cannot be read: ${(error as Error).message}`);
  }
}

/** Returns the paths and the texts of the checkpoints beside files of a journal. */
export function checkpointsBeside(
  files: readonly JournalFileName[],
): Promise<readonly (readonly [path: string, text: string])[]> {
  return Promise.all(
    files.map(async ({ path }) => {
      const beside = besideFile(path, "checkpoints");
      return [beside, await readFile(beside, "utf8").catch(() => "")] as const;
    }),
  );
}
