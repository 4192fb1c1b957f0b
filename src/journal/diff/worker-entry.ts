import { parentPort, workerData } from "node:worker_threads";
import { ComparedPolicies, type ComparedSources } from "./compared-policies.ts";
import { RangeDiff } from "./diff-range.ts";
import type { FileRange } from "./file-ranges.ts";
import type { Counts } from "./policy-diff.ts";

/** What the thread answers to a range. */
export type RangeAnswer = { readonly counts: Counts } | { readonly error: string };

const opening = ComparedPolicies.open(workerData as ComparedSources).then(
  (policies) => new RangeDiff(policies),
);
// Each answer reports the error.
opening.catch(() => {});
parentPort?.on("message", async (range: FileRange) => {
  let answer: RangeAnswer;
  try {
    answer = { counts: await (await opening).count(range) };
  } catch (error) {
    answer = { error: (error as Error).message };
  }
  parentPort?.postMessage(answer);
});
