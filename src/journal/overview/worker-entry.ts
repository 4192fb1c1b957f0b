import { parentPort, workerData } from "node:worker_threads";
import { JournalIndex } from "./journal-index.ts";

/** What the thread answers: why it failed, or nothing. */
export type IndexAnswer = { readonly error?: string };

/** After how many records the index is stored, so that a process that ends meanwhile does not begin again. */
const SAVED_AFTER = 500_000;

let answer: IndexAnswer = {};
try {
  const index = await JournalIndex.open(workerData as string);
  for await (const _ of index.readOn()) if (index.unsaved >= SAVED_AFTER) await index.save();
  await index.save();
} catch (error) {
  answer = { error: (error as Error).message };
}
parentPort?.postMessage(answer);
