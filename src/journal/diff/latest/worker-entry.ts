import { parentPort, workerData } from "node:worker_threads";
import { compareLatest } from "./compare-latest.ts";
import type { LatestDiff, LatestDiffOptions } from "./latest-diff.ts";

/** What the thread answers. */
export type LatestAnswer = { readonly diff: LatestDiff } | { readonly error: string };

let answer: LatestAnswer;
try {
  answer = { diff: await compareLatest(workerData as LatestDiffOptions) };
} catch (error) {
  answer = { error: (error as Error).message };
}
parentPort?.postMessage(answer);
