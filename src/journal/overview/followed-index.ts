import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { entryFile } from "../../base/package-files.ts";
import { JournalError } from "../journal-error.ts";
import { JournalIndex } from "./journal-index.ts";
import { type JournalOverview, type OverviewQuery, overviewOf } from "./overview.ts";
import type { IndexAnswer } from "./worker-entry.ts";

/** The most bytes that are counted in this thread: more of them would stall it for too long. */
const MAX_BYTES_HERE = 4_194_304;
/** After how many records the index is stored. */
const SAVED_AFTER = 20_000;
/** Milliseconds for which an answer waits for the thread. */
const PATIENCE_MS = 300;

/** The index of a journal that is in use. */
export class FollowedIndex {
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

  /** Has a thread count what is behind, and waits for it for a short time. */
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
