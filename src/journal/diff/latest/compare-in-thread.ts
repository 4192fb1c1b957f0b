import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { entryFile } from "../../../base/entry-file.ts";
import { JournalError } from "../../journal-error.ts";
import type { LatestDiff, LatestDiffOptions } from "./latest-diff.ts";
import type { LatestAnswer } from "./worker-entry.ts";

/** Megabytes of the thread's heap. It has the sealed arguments of the journal. */
const HEAP_MB = 512;

/**
 * Like `compareLatest`, in a thread, since deciding on many calls takes long.
 *
 * @param signal Ends the thread, and rejects with its reason.
 * @throws {JournalError} as a rejection, if a file cannot be read or the thread fails.
 */
export async function compareInThread(
  workerData: LatestDiffOptions,
  signal: AbortSignal,
): Promise<LatestDiff> {
  signal.throwIfAborted();
  const worker = new Worker(entryFile("journal/diff/latest/worker-entry"), {
    workerData,
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
  });
  try {
    const [answer] = (await once(worker, "message", { signal })) as [LatestAnswer];
    if ("diff" in answer) return answer.diff;
    throw new JournalError(answer.error);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof JournalError) throw error;
    throw new JournalError(`the policies cannot be compared: ${(error as Error).message}`);
  } finally {
    await worker.terminate();
  }
}
