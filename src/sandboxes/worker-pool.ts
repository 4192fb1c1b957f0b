import { availableParallelism } from "node:os";
import type { ResourceLimits as ThreadLimits, Worker } from "node:worker_threads";
import { Piscina } from "piscina";
import type { TaskObserver } from "./sandbox.ts";
import type { ThreadMessage, ThreadTask } from "./worker-thread.ts";

/** How a pool of worker threads is made. */
export interface WorkerPoolOptions {
  /** How many threads. Default: the machine's available parallelism. */
  readonly threads?: number;
  /** How long a task may wait for a free thread, in ms. Default: 30,000. */
  readonly maxWaitMs?: number;
}

/** What a pool is told of one task. */
export interface PoolTaskOptions {
  /** From the start of the work until the thread is ended; `undefined` for no limit. */
  readonly wallTimeMs: number | undefined;
  /** How much longer the thread may take to end the work by itself. Default: 0. */
  readonly graceMs?: number;
  readonly signal: AbortSignal | undefined;
  readonly observer: TaskObserver;
}

/** What became of a task in a thread. `wallTimeMs` counts from the start of the work. */
export type PoolOutcome<Result> = { readonly wallTimeMs: number } & (
  | { readonly status: "returned"; readonly result: Result }
  /** The thread was ended; `started` tells whether the work had begun. */
  | { readonly status: "timeout" | "cancelled"; readonly started: boolean }
  /** The thread broke under the task. */
  | { readonly status: "crashed"; readonly started: boolean; readonly error: Error }
  /** No thread took the task. */
  | { readonly status: "unavailable"; readonly reason: string }
);

const DEFAULT_MAX_WAIT_MS = 30_000;

/**
 * A pool of threads that run one task each. Ending a thread is the one kill that always works: a deadline, a
 * cancellation and a close end it, and the pool starts another.
 */
export class WorkerPool {
  readonly #piscina: Piscina;
  readonly #maxWaitMs: number;
  readonly #observers = new Map<number, TaskObserver>();
  readonly #closing = new AbortController();
  #lastTaskId = 0;

  /**
   * @param entry The module whose default export takes each task, in a thread.
   * @param threadLimits V8's limits for each thread.
   */
  constructor(entry: string, options: WorkerPoolOptions = {}, threadLimits: ThreadLimits = {}) {
    const { threads = availableParallelism(), maxWaitMs = DEFAULT_MAX_WAIT_MS } = options;
    this.#maxWaitMs = maxWaitMs;
    this.#piscina = new Piscina({
      filename: entry,
      minThreads: threads,
      maxThreads: threads,
      concurrentTasksPerWorker: 1,
      resourceLimits: threadLimits,
      recordTiming: false,
    });
    this.#piscina.on("message", (message: ThreadMessage) => this.#deliver(message));
    // A thread that breaks without a task is replaced; there is nobody to tell.
    this.#piscina.on("error", () => {});
  }

  /** How many threads there are, starting ones included. */
  get threadCount(): number {
    return this.#piscina.threads.length;
  }

  /** Runs a task in a thread. Never rejects; settles only when its thread has answered or ended. */
  async run<Result>(fields: object, options: PoolTaskOptions): Promise<PoolOutcome<Result>> {
    if (this.#closing.signal.aborted) {
      return { status: "unavailable", reason: "the pool is closed", wallTimeMs: 0 };
    }
    const taskId = ++this.#lastTaskId;
    const startedAt = new BigInt64Array(new SharedArrayBuffer(8));
    const task: ThreadTask = { ...fields, taskId, startedAt };
    const watch = new Watch(startedAt, options, this.#maxWaitMs, this.#closing.signal);
    this.#observers.set(taskId, options.observer);
    let ended: readonly Worker[] = [];
    watch.onEnd = (abort) => {
      const before = this.#piscina.threads;
      abort();
      const left = new Set(this.#piscina.threads);
      ended = before.filter((thread) => !left.has(thread));
    };
    try {
      const result = (await this.#piscina.run(task, { signal: watch.signal })) as Result;
      return { status: "returned", result, wallTimeMs: watch.elapsedMs };
    } catch (error) {
      const outcome = watch.explain(error instanceof Error ? error : new Error(String(error)));
      await Promise.all(ended.map((thread) => thread.terminate()));
      return outcome;
    } finally {
      watch.stop();
      this.#observers.delete(taskId);
    }
  }

  #deliver(message: ThreadMessage): void {
    const observer = this.#observers.get(message.taskId);
    if (message.type === "output") observer?.output(message.chunk);
    else if (message.type === "log") observer?.log(message.level, message.message);
  }

  /** Ends every thread, and with it what runs. Idempotent. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#piscina.destroy();
  }
}

/** Watches over one task's time: the wait for a thread, the deadline of the work, cancellation. */
class Watch {
  /** Ends the task; set by the pool, which has to see which thread goes. */
  onEnd: (abort: () => void) => void = (abort) => abort();
  readonly #abort = new AbortController();
  readonly #submittedAt: bigint = process.hrtime.bigint();
  readonly #startedAt: BigInt64Array;
  readonly #options: PoolTaskOptions;
  readonly #maxWaitMs: number;
  readonly #closing: AbortSignal;
  #timer: NodeJS.Timeout | undefined;
  #cause: "timeout" | "cancelled" | "waited" | undefined;

  constructor(startedAt: BigInt64Array, options: PoolTaskOptions, maxWaitMs: number, closing: AbortSignal) {
    this.#startedAt = startedAt;
    this.#options = options;
    this.#maxWaitMs = maxWaitMs;
    this.#closing = closing;
    const { signal } = options;
    signal?.addEventListener("abort", this.#cancel);
    closing.addEventListener("abort", this.#cancel);
    if (signal?.aborted) this.#cancel();
    else this.#check();
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Milliseconds since the work began; 0 before. */
  get elapsedMs(): number {
    const startedAt = Atomics.load(this.#startedAt, 0);
    return startedAt === 0n ? 0 : sinceMs(startedAt);
  }

  /** Whether the time is up; otherwise looks again when it may be. */
  readonly #check = (): void => {
    const { wallTimeMs = Number.POSITIVE_INFINITY, graceMs = 0 } = this.#options;
    const allowedMs = wallTimeMs + graceMs;
    const started = Atomics.load(this.#startedAt, 0) !== 0n;
    const leftMs = started ? allowedMs - this.elapsedMs : this.#maxWaitMs - sinceMs(this.#submittedAt);
    if (leftMs <= 0) {
      this.#end(started ? "timeout" : "waited");
      return;
    }
    // Until the start is known, a look each `allowedMs` cannot miss the deadline that it sets.
    const delayMs = started ? leftMs : Math.min(leftMs, allowedMs);
    if (Number.isFinite(delayMs)) this.#timer = setTimeout(this.#check, Math.ceil(delayMs));
  };

  readonly #cancel = (): void => this.#end("cancelled");

  #end(cause: "timeout" | "cancelled" | "waited"): void {
    if (this.#cause !== undefined) return;
    this.#cause = cause;
    this.stop();
    this.onEnd(() => this.#abort.abort());
  }

  /** Tells why the pool gave the task up. */
  explain(error: Error): Exclude<PoolOutcome<never>, { status: "returned" }> {
    const wallTimeMs = this.elapsedMs;
    const started = wallTimeMs > 0;
    switch (this.#cause) {
      case "waited":
        return { status: "unavailable", reason: `no free thread within ${this.#maxWaitMs} ms`, wallTimeMs };
      case undefined:
        return { status: "crashed", started, error, wallTimeMs };
      default:
        return { status: this.#cause, started, wallTimeMs };
    }
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#options.signal?.removeEventListener("abort", this.#cancel);
    this.#closing.removeEventListener("abort", this.#cancel);
  }
}

function sinceMs(instant: bigint): number {
  return Number(process.hrtime.bigint() - instant) / 1e6;
}
