import { once } from "node:events";
import { stat } from "node:fs/promises";
import { Worker } from "node:worker_threads";
import { entryFile } from "../../base/package-files.ts";
import { canonicalText } from "../../json/canonical.ts";
import type { JsonValue } from "../../json/value.ts";
import type { ComparedSources } from "../diff/compared-policies.ts";
import type { LatestAnswer } from "../diff/latest-worker-entry.ts";
import type { LatestDiff, LatestDiffOptions } from "../diff/policy-diff.ts";
import type { Journal } from "../journal.ts";
import { JournalError } from "../journal-error.ts";
import { type JournalEntry, parseEntry } from "../line/entry.ts";
import { JournalIndex } from "../overview/journal-index.ts";
import { type JournalOverview, type OverviewQuery, overviewOf } from "../overview/overview.ts";
import type { IndexAnswer } from "../overview/worker-entry.ts";
import { ArgumentReader, type MissingArguments } from "../read/argument-reader.ts";
import { isCallRecord } from "../read/recorded-calls.ts";
import { besideFile, listFiles } from "../storage/file-names.ts";
import { backwardLines } from "../storage/line-reader.ts";
import type { JournalReport } from "../verify/report.ts";
import type { VerifyOptions } from "../verify/verify-journal.ts";
import type { VerifyAnswer } from "../verify/worker-entry.ts";
import { findRecord } from "./find-record.ts";
import {
  type HistoryCall,
  type HistoryPage,
  type HistoryQuery,
  isEndOf,
  listCalls,
  readOn,
} from "./list-calls.ts";

/** Megabytes of the thread's heap. A journal is read line by line. */
const HEAP_MB = 512;

/** The current state of a journal. */
interface JournalSummary {
  /** Whether it can write. While it cannot, no call runs. */
  readonly isHealthy: boolean;
  /** The number of records that could not be written. */
  readonly lost: number;
  /** In bytes, of all files with records. */
  readonly size: number;
  readonly entries: number;
  /** The time of the last record, in milliseconds since the epoch. */
  readonly lastAt?: number;
  /** Whether checkpoints are signed. */
  readonly isSigned: boolean;
}

/** Maximum number of bytes after a call that are read for its end. */
const MAX_BYTES_BEHIND = 67_108_864;
/** Maximum number of bytes that are read for a comparison of policies. */
const MAX_COMPARED_BYTES = 67_108_864;

/** Maximum number of calls that are listed because the decisions on them differ. */
const MAX_CHANGED = 500;

/** Reads the calls of a journal that is in use, without reading all of it. */
export class JournalHistory {
  readonly #journal: Journal;
  readonly #directory: string;
  readonly #index: FollowedIndex;

  /** @param directory The one that the journal was opened with. */
  constructor(journal: Journal, directory: string) {
    this.#journal = journal;
    this.#directory = directory;
    this.#index = new FollowedIndex(directory);
  }

  /** @throws {JournalError} if a file cannot be read. */
  async summary(): Promise<JournalSummary> {
    const { problem, lost, records, verifierKey } = this.#journal;
    const files = await listFiles(this.#directory);
    let size = 0;
    for (const { path } of files) size += (await stat(path)).size;
    const lastAt = await lastTime(files.map(({ path }) => path));
    return {
      isHealthy: problem === undefined,
      lost,
      size,
      entries: records,
      ...(lastAt !== undefined && { lastAt }),
      isSigned: verifierKey !== undefined,
    };
  }

  /**
   * Returns what was recorded in a range of time, in numbers, from an index that is stored beside the journal. If much was
   * recorded since it was read last, a thread reads that first, and the numbers are not complete until then.
   *
   * @throws like {@link calls}.
   */
  async overview(query: OverviewQuery): Promise<JournalOverview> {
    await this.#journal.flush();
    return this.#index.read(query);
  }

  /**
   * Lets the index read further, so that {@link overview} has little to read.
   *
   * @throws like {@link calls}.
   */
  async readOn(): Promise<void> {
    await this.#index.follow();
  }

  /**
   * Lists calls, the latest first.
   *
   * @throws {JournalError} if a file cannot be read, and the signal's reason if it is aborted.
   */
  async calls(query: HistoryQuery): Promise<HistoryPage> {
    await this.#journal.flush();
    return listCalls(this.#directory, query);
  }

  /**
   * Returns the call whose record has a number; `undefined` if none. Its end is looked for in the 64 MiB after it.
   *
   * @throws like {@link calls}.
   */
  async call(seq: number, signal?: AbortSignal): Promise<HistoryCall | undefined> {
    await this.#journal.flush();
    const directory = this.#directory;
    const from = await findRecord(directory, seq);
    if (from === undefined) return undefined;
    let begin: JournalEntry | undefined;
    const unknown: { isEndUnknown?: true } = {};
    const onCut = (): void => {
      unknown.isEndUnknown = true;
    };
    for await (const entries of readOn(directory, from, MAX_BYTES_BEHIND, signal, onCut)) {
      begin ??= entries.find((entry) => entry.seq === seq);
      if (begin === undefined || !isCallRecord(begin)) return undefined;
      if (begin.type === "tool.call.denied") return { begin };
      const found = begin;
      const end = entries.find((entry) => isEndOf(entry, found));
      if (end !== undefined) return { begin, end };
    }
    return begin && { begin, ...unknown };
  }

  /**
   * Verifies the whole journal in a thread, with the checkpoints that the journal's own key signed.
   *
   * @throws like {@link calls}.
   */
  async verify(signal: AbortSignal): Promise<JournalReport> {
    await this.#journal.flush();
    const { verifierKey } = this.#journal;
    const keys = verifierKey === undefined ? [] : [verifierKey];
    return verifyInThread({ directory: this.#directory, keys }, signal);
  }

  /**
   * Decides by two policies on the latest calls, in a thread. It reads at most 64 MiB of the journal, and lists the first 500
   * calls on which they differ.
   *
   * @param sources Those of the two policies: see `RuntimePolicy.sources`.
   * @param last The most calls.
   * @throws like {@link calls}.
   */
  async comparePolicies(sources: ComparedSources, last: number, signal: AbortSignal): Promise<LatestDiff> {
    await this.#journal.flush();
    const bounds = { maxBytes: MAX_COMPARED_BYTES, maxChanged: MAX_CHANGED };
    return compareInThread({ directory: this.#directory, sources, last, ...bounds }, signal);
  }

  /**
   * Returns the arguments of a call, sealed or not, or why they are not those that the call had.
   *
   * @throws like {@link calls}.
   */
  async argumentsOf(
    begin: JournalEntry,
    signal?: AbortSignal,
  ): Promise<{ readonly value: JsonValue } | { readonly missing: MissingArguments }> {
    if (begin["sealed"] === undefined) {
      const { args = null } = begin;
      const read = (await ArgumentReader.openFor(begin, this.#directory, undefined)).read(
        begin,
        canonicalText(args),
      );
      return "missing" in read ? read : { value: args };
    }
    const opened = await this.openArguments(begin, signal);
    return "missing" in opened ? opened : { value: JSON.parse(opened.text) as JsonValue };
  }

  /**
   * Opens the arguments of a call that were sealed, as canonical text, or returns why they cannot be read. It reads the
   * sealed arguments of the file that the call is recorded in.
   *
   * @throws like {@link calls}.
   */
  async openArguments(
    begin: JournalEntry,
    signal?: AbortSignal,
  ): Promise<{ readonly text: string } | { readonly missing: MissingArguments }> {
    const at = await findRecord(this.#directory, begin.seq);
    const sealed = at && besideFile(at.file, "sealed");
    return (await ArgumentReader.openFor(begin, this.#directory, sealed, signal)).read(begin, "");
  }
}

async function lastTime(paths: readonly string[]): Promise<number | undefined> {
  for (const path of paths.toReversed()) {
    for await (const lines of backwardLines(path)) {
      for (const { bytes } of lines) {
        const entry = parseEntry(bytes.toString());
        if (entry !== undefined) return entry.at;
      }
    }
  }
  return undefined;
}

/**
 * Like `verifyJournal`, in a thread, since reading a whole journal takes long.
 *
 * @param signal Ends the thread, and rejects with its reason.
 * @throws {JournalError} as a rejection, if a file cannot be read or the thread fails.
 */
async function verifyInThread(workerData: VerifyOptions, signal: AbortSignal): Promise<JournalReport> {
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

/**
 * Like `compareLatest`, in a thread, since deciding on many calls takes long.
 *
 * @param signal Ends the thread, and rejects with its reason.
 * @throws {JournalError} as a rejection, if a file cannot be read or the thread fails.
 */
async function compareInThread(workerData: LatestDiffOptions, signal: AbortSignal): Promise<LatestDiff> {
  signal.throwIfAborted();
  const worker = new Worker(entryFile("journal/diff/latest-worker-entry"), {
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

/** Maximum number of bytes that are counted in this thread: more of them would stall it for too long. */
const MAX_BYTES_HERE = 4_194_304;
/** After how many records the index is stored. */
const SAVED_AFTER = 20_000;
/** Milliseconds for which an answer waits for the thread. */
const PATIENCE_MS = 300;

/** The index of a journal that is in use. */
class FollowedIndex {
  readonly #directory: string;
  #index: JournalIndex | undefined;
  #following: Promise<boolean> | undefined;
  /** Ends when a thread has stored an index with what was behind. */
  #thread: Promise<void> | undefined;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /**
   * Returns what was recorded in a range, in numbers. What a thread still reads is not counted, and the answer says so.
   *
   * @throws {JournalError} as a rejection, if a file cannot be read.
   */
  async read(query: OverviewQuery): Promise<JournalOverview> {
    const isComplete = await this.follow();
    const index = this.#index ?? (await JournalIndex.open(this.#directory));
    return overviewOf(index.calls, query, isComplete);
  }

  /**
   * Counts what was recorded since the last time. Returns whether that is everything: much is counted in a thread.
   *
   * @throws {JournalError} as a rejection, if a file cannot be read.
   */
  follow(): Promise<boolean> {
    this.#following ??= this.#follow().finally(() => {
      this.#following = undefined;
    });
    return this.#following;
  }

  async #follow(): Promise<boolean> {
    this.#index ??= await JournalIndex.open(this.#directory);
    if (this.#thread !== undefined || (await this.#index.bytesBehind()) > MAX_BYTES_HERE) {
      if (!(await this.#hasCaughtUp())) return false;
      this.#index = await JournalIndex.open(this.#directory);
      if ((await this.#index.bytesBehind()) > MAX_BYTES_HERE) return false;
    }
    for await (const _ of this.#index.readOn());
    if (this.#index.unsaved >= SAVED_AFTER) await this.#index.save();
    return true;
  }

  /** Lets a thread count what is behind, and waits for it for a short time. */
  async #hasCaughtUp(): Promise<boolean> {
    this.#thread ??= countInThread(this.#directory).finally(() => {
      this.#thread = undefined;
    });
    const { promise: patience, resolve } = Promise.withResolvers<boolean>();
    const timer = setTimeout(resolve, PATIENCE_MS, false);
    try {
      return await Promise.race([this.#thread.then(() => true), patience]);
    } finally {
      clearTimeout(timer);
    }
  }
}

async function countInThread(directory: string): Promise<void> {
  const worker = new Worker(entryFile("journal/overview/worker-entry"), { workerData: directory });
  // An index is no reason to continue running.
  worker.unref();
  try {
    const [{ error }] = (await once(worker, "message")) as [IndexAnswer];
    if (error !== undefined) throw new JournalError(error);
  } finally {
    await worker.terminate();
  }
}
