import { parentPort, workerData } from "node:worker_threads";
import { type JournalEntry, parseEntry } from "../line/entry.ts";
import { decidedAt, isCallRecord, RecordedCalls, type UndecidableCause } from "../read/recorded-calls.ts";
import { listFiles } from "../storage/file-names.ts";
import { backwardLines } from "../storage/line-reader.ts";
import { ComparedPolicies } from "./compared-policies.ts";
import type { ChangedCall, LatestDiff, LatestDiffOptions } from "./policy-diff.ts";

/** What the thread answers. */
export type LatestAnswer = { readonly diff: LatestDiff } | { readonly error: string };

let answer: LatestAnswer;
try {
  answer = { diff: await compareLatest(workerData as LatestDiffOptions) };
} catch (error) {
  answer = { error: (error as Error).message };
}
parentPort?.postMessage(answer);

/**
 * Decides by two policies on the latest calls of a journal, at the times of their records.
 *
 * @throws {JournalError} as a rejection, if a file cannot be read.
 */
async function compareLatest(options: LatestDiffOptions): Promise<LatestDiff> {
  const { directory, sources, last, maxBytes, maxChanged } = options;
  const policies = await ComparedPolicies.open(sources);
  const calls = await RecordedCalls.open(directory);
  const changed: ChangedCall[] = [];
  const undecidable: { [Cause in UndecidableCause]?: number } = {};
  const count = { compared: 0, different: 0, undecided: 0 };
  const result = (isCut: boolean): LatestDiff => ({ ...count, changed, undecidable, isCut });
  const compare = (entry: JournalEntry): UndecidableCause | undefined => {
    const request = calls.requestOf(entry);
    if (typeof request === "string") return request;
    const { changes, after, decisions } = policies.compare(request, decidedAt(entry));
    if (request.missing !== undefined) return request.missing;
    count.compared++;
    if (changes.length === 0 || decisions === undefined) return undefined;
    count.different++;
    if (changed.length === maxChanged) return undefined;
    changed.push({
      seq: entry.seq,
      tool: String(entry["tool"]),
      before: decisions[0],
      after: decisions[1],
      changes: changes.map(({ change }) => change),
      rules: after,
    });
    return undefined;
  };
  let [read, bytesRead] = [0, 0];
  for (const { path } of (await listFiles(directory)).toReversed()) {
    for await (const lines of backwardLines(path)) {
      for (const { bytes } of lines) {
        if (bytesRead > maxBytes) return result(true);
        bytesRead += bytes.length;
        const entry = parseEntry(bytes.toString());
        if (entry === undefined || !isCallRecord(entry)) continue;
        if (entry["decision"] === undefined) count.undecided++;
        else {
          const cause = tried(compare, entry);
          if (cause !== undefined) undecidable[cause] = (undecidable[cause] ?? 0) + 1;
        }
        if (++read === last) return result(false);
      }
    }
  }
  return result(false);
}

function tried(
  compare: (entry: JournalEntry) => UndecidableCause | undefined,
  entry: JournalEntry,
): UndecidableCause | undefined {
  try {
    return compare(entry);
  } catch (error) {
    // The stack overflows on forged arguments that are deeper than those of any call.
    if (error instanceof RangeError) return "no valid record";
    throw error;
  }
}
