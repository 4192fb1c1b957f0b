import { availableParallelism } from "node:os";
import type { ResourceLimits as ThreadLimits, Worker } from "node:worker_threads";
import { Piscina } from "piscina";
import type { PoolOutcome, PoolTaskOptions } from "./pool-task.ts";
import { Mailbox } from "./worker-mailbox.ts";
import { type Envelope, MESSAGES_SENT, type ThreadTask } from "./worker-thread.ts";
import { Watch } from "./worker-watch.ts";

/** How a pool of worker threads is made. */
export interface WorkerPoolOptions {
  /** How many threads. Default: the machine's available parallelism. */
  readonly threads?: number;
  /** How long a task may wait for a free thread, in ms. Default: 30,000. */
  readonly maxWaitMs?: number;
}

/** How a pool's threads differ from others. */
export interface ThreadOptions {
  /** V8's limits for each thread. */
  readonly limits?: ThreadLimits;
  /** What each thread finds in its `workerData`. */
  readonly data?: unknown;
}

const DEFAULT_MAX_WAIT_MS = 30_000;

/**
 * A pool of threads that run one task each. Ending a thread is the one kill that always works: a deadline, a
 * cancellation and a close end it, and the pool starts another.
 */
export class WorkerPool {
  readonly #piscina: Piscina;
  readonly #maxWaitMs: number;
  /** By their ids. */
  readonly #running = new Map<number, RunningTask>();
  #lastTaskId = 0;
  #isClosed = false;
  #idle: Promise<void> | undefined;
  #onIdle: (() => void) | undefined;

  /** @param entry The module whose default export takes each task, in a thread. */
  constructor(entry: string, options: WorkerPoolOptions = {}, { limits = {}, data }: ThreadOptions = {}) {
    const { threads = availableParallelism(), maxWaitMs = DEFAULT_MAX_WAIT_MS } = options;
    this.#maxWaitMs = maxWaitMs;
    this.#piscina = new Piscina({
      filename: entry,
      minThreads: threads,
      maxThreads: threads,
      concurrentTasksPerWorker: 1,
      resourceLimits: limits,
      workerData: data,
      recordTiming: false,
    });
    this.#piscina.on("message", ({ taskId, message }: Envelope) =>
      this.#running.get(taskId)?.mailbox.deliver(message),
    );
    // A thread that breaks without a task is replaced; there is nobody to tell.
    this.#piscina.on("error", () => {});
  }

  /** Runs a task in a thread. Never rejects; settles only when its thread has answered or ended. */
  async run<Result>(fields: object, options: PoolTaskOptions): Promise<PoolOutcome<Result>> {
    if (this.#isClosed) return { status: "unavailable", reason: "the pool is closed", wallTimeMs: 0 };
    const taskId = ++this.#lastTaskId;
    const shared = new BigInt64Array(new SharedArrayBuffer(16));
    const task: ThreadTask = { ...fields, taskId, shared };
    const watch = new Watch(shared, options, this.#maxWaitMs);
    const mailbox = new Mailbox(options.observer);
    this.#running.set(taskId, { watch, mailbox });
    let ended: readonly Worker[] = [];
    watch.onEnd = (abort) => {
      const before = this.#piscina.threads;
      abort();
      const left = new Set(this.#piscina.threads);
      ended = before.filter((thread) => !left.has(thread));
    };
    try {
      const result = (await this.#piscina.run(task, { signal: watch })) as Result;
      const wallTimeMs = watch.elapsedMs;
      const sent = Number(Atomics.load(shared, MESSAGES_SENT));
      if (sent > 0) await mailbox.received(sent);
      return { status: "returned", result, wallTimeMs };
    } catch (error) {
      const outcome = watch.explain(error instanceof Error ? error : new Error(String(error)));
      await Promise.all(ended.map((thread) => thread.terminate()));
      return outcome;
    } finally {
      watch.stop();
      this.#running.delete(taskId);
      if (this.#running.size === 0) this.#onIdle?.();
    }
  }

  /** Ends every thread, and with it what runs. Idempotent. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { watch, mailbox } of this.#running.values()) {
      watch.cancel();
      mailbox.close();
    }
    // The pool must not be destroyed while threads that it ended are still going: their end would start new ones.
    this.#idle ??= new Promise((resolve) => {
      this.#onIdle = resolve;
      if (this.#running.size === 0) resolve();
    });
    await this.#idle;
    await this.#piscina.destroy();
  }
}

/** A task on its way, until its outcome is there. */
interface RunningTask {
  readonly watch: Watch;
  readonly mailbox: Mailbox;
}
