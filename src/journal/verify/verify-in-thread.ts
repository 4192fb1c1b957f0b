import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { entryFile } from "../../base/entry-file.ts";
import { JournalError } from "../journal-error.ts";
import type { JournalReport } from "./report.ts";
import type { VerifyOptions } from "./verify-journal.ts";
import type { VerifyAnswer } from "./worker-entry.ts";

/** Megabytes of the thread's heap. A journal is read line by line. */
const HEAP_MB = 512;

/**
 * Like `verifyJournal`, in a thread, since reading a whole journal takes long.
 *
 * @param signal Ends the thread, and rejects with its reason.
 * @throws {JournalError} as a rejection, if a file cannot be read or the thread fails.
 */
export async function verifyInThread(workerData: VerifyOptions, signal: AbortSignal): Promise<JournalReport> {
  signal.throwIfAborted();
  const worker = new Worker(entryFile("journal/verify/worker-entry"), {
    workerData,
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
  });
  try {
    const [answer] = (await once(worker, "message", { signal })) as [VerifyAnswer];
    if ("report" in answer) return answer.report;
    throw new JournalError(answer.error);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof JournalError) throw error;
    throw new JournalError(`the journal cannot be verified: ${(error as Error).message}`);
  } finally {
    await worker.terminate();
  }
}
