import { availableParallelism } from "node:os";
import { type EndCause, type PoolOutcome, PoolTask, type PoolTaskOptions } from "./pool-task.ts";
import type { ThreadOptions } from "./pool-thread.ts";
import { TaskClock } from "./task-clock.ts";
import { ThreadLane } from "./thread-lane.ts";

/** The options of a pool of worker threads. */
export interface WorkerPoolOptions {
  /**
   * Number of threads. Default: the machine's available parallelism. Up to half as many, but at least two,
   * are added for tools that exceed their deadlines. Calls that other calls wait for have the same numbers of
   * threads for each depth.
   */
  readonly threads?: number;
  /** Milliseconds that a task may wait for a free thread. Default: 30,000. */
  readonly maxWaitMs?: number;
}

const DEFAULT_MAX_WAIT_MS = 30_000;

/**
 * A pool of threads. A deadline or a cancellation ends the thread that runs the task, and the pool starts
 * another one. A thread that does not end in time is abandoned: nothing waits for it. A thread runs one task
 * at a time, with a few more waiting in it to avoid idle time between small tasks. These move to other
 * threads when it ends. Tools that exceed their deadlines have separate threads, and wait for each other
 * only.
 */
export class WorkerPool {
  readonly #lanes: ThreadLane[] = [];
  readonly #options: ThreadOptions;
  readonly #size: number;
  readonly #maxWaitMs: number;
  readonly #clock: TaskClock;
  #isClosed = false;

  constructor(threads: ThreadOptions, options: WorkerPoolOptions = {}) {
    this.#options = threads;
    this.#size = options.threads ?? availableParallelism();
    this.#maxWaitMs = options.maxWaitMs ?? DEFAULT_MAX_WAIT_MS;
    this.#clock = new TaskClock(this.#maxWaitMs, this.#end);
    this.#lane(0).fill();
  }

  /**
   * Runs a task in a thread. Never rejects. Resolves when its thread has answered, has ended or was
   * abandoned.
   */
  run<Result>(fields: unknown, options: PoolTaskOptions): Promise<PoolOutcome<Result>> {
    if (this.#isClosed) {
      return Promise.resolve({ status: "unavailable", reason: "the pool is closed", wallTimeMs: 0 });
    }
    if (options.signal?.aborted) {
      return Promise.resolve({ status: "cancelled", started: false, wallTimeMs: 0 });
    }
    return new Promise((resolve) => {
      const task = new PoolTask(fields, options, resolve, this.#cancel);
      this.#clock.add(task);
      this.#lane(options.nesting ?? 0).submit(task);
    });
  }

  /** Lets the threads forget an artifact that no task will name again. */
  forget(artifact: string): void {
    for (const lane of this.#lanes) lane.forget(artifact);
  }

  /** Ends every thread, and with it what runs. Idempotent. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const closing = this.#lanes.map((lane) => lane.close());
    for (const task of [...this.#clock.tasks]) this.#cancel(task);
    await Promise.all(closing);
    this.#clock.stop();
  }

  #lane(nesting: number): ThreadLane {
    for (;;) {
      const lane = this.#lanes[nesting];
      if (lane !== undefined) return lane;
      this.#lanes.push(new ThreadLane(this.#size, this.#options, this.#settle));
    }
  }

  readonly #cancel = (task: PoolTask): void => this.#end(task, "cancelled");

  readonly #end = (task: PoolTask, cause: EndCause): void => {
    if (task.cause !== undefined) return;
    task.cause = cause;
    if (!this.#lane(task.options.nesting ?? 0).takeBack(task)) task.holder?.endUnder(task);
    else if (cause === "waited") {
      const reason = `no free thread within ${this.#maxWaitMs} ms`;
      this.#settle(task, { status: "unavailable", reason, wallTimeMs: 0 });
    } else this.#settle(task, { status: cause, started: false, wallTimeMs: 0 });
  };

  readonly #settle = (task: PoolTask, outcome: PoolOutcome<never>): void => {
    this.#clock.delete(task);
    task.settle(outcome);
  };
}
