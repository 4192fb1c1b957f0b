import { once } from "node:events";
import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import { entryFile } from "../../base/package-files.ts";
import { type OptionNames, refuseUnknown } from "../../base/unknown-names.ts";
import type { RuntimePolicy } from "../../policy/policy.ts";
import { JournalError } from "../journal-error.ts";
import type { ComparedSources } from "./compared-policies.ts";
import { type FileRange, rangesOf } from "./file-ranges.ts";
import { addUp, type Counts, type PolicyDiff } from "./policy-diff.ts";
import type { RangeAnswer } from "./worker-entry.ts";

const NAMES: OptionNames<PolicyDiffOptions> = { before: true, after: true, directories: true };

/** Reading from one disk does not become faster with more threads. */
const MAX_THREADS = 8;

/** The options of {@link diffPolicies}. */
export interface PolicyDiffOptions {
  /** A policy that is data: it has `sources`, as a `RulePolicy` and a `CedarPolicy` have. */
  readonly before: RuntimePolicy;
  /** Another such policy. */
  readonly after: RuntimePolicy;
  /** The directories of journals, or single files of them. */
  readonly directories: readonly string[];
}

/**
 * Decides by two policies on every recorded call, at the time of its record, and counts how their decisions differ. The
 * journals are read in several threads.
 *
 * @throws {TypeError} if a policy is in code.
 * @throws {JournalError} if a journal cannot be read.
 */
export async function diffPolicies(options: PolicyDiffOptions): Promise<PolicyDiff> {
  refuseUnknown(options, NAMES, "diffPolicies");
  const { before, after, directories } = options;
  const sources = { before: sourcesOf(before), after: sourcesOf(after) };
  const ranges = (await Promise.all(directories.map(rangesOf))).flat();
  const counts: Counts[] = [];
  const waiting = [...ranges.entries()];
  const threads = Math.min(availableParallelism(), MAX_THREADS, ranges.length);
  const run = async (): Promise<void> => {
    await using thread = new DiffThread(sources);
    try {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const [place, range] = next;
        counts[place] = await thread.count(range);
      }
    } finally {
      // After an error, the other threads need not continue.
      waiting.length = 0;
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: threads }, run));
  for (const end of ends) if (end.status === "rejected") throw end.reason;
  return addUp(counts);
}

function sourcesOf({ sources = [] }: RuntimePolicy): readonly string[] {
  if (sources.length === 0) throw new TypeError("a policy in code cannot be compared: it has no sources");
  return sources;
}

class DiffThread implements AsyncDisposable {
  readonly #worker: Worker;

  constructor(workerData: ComparedSources) {
    this.#worker = new Worker(entryFile("journal/diff/worker-entry"), { workerData });
  }

  async count(range: FileRange): Promise<Counts> {
    this.#worker.postMessage(range);
    // Rejects if the thread fails.
    const [answer] = (await once(this.#worker, "message")) as [RangeAnswer];
    if ("counts" in answer) return answer.counts;
    throw new JournalError(answer.error);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker.terminate();
  }
}
