import { parentPort, workerData } from "node:worker_threads";
import type { JournalReport } from "./report.ts";
import { type VerifyOptions, verifyJournal } from "./verify-journal.ts";

/** What the thread answers. */
export type VerifyAnswer = { readonly report: JournalReport } | { readonly error: string };

let answer: VerifyAnswer;
try {
  answer = { report: await verifyJournal(workerData as VerifyOptions) };
} catch (error) {
  answer = { error: (error as Error).message };
}
parentPort?.postMessage(answer);
