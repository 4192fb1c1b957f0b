import type { EndCause, PoolTask } from "./pool-task.ts";
import { msBetween } from "./thread-table.ts";

/** The longest that a timer can be set to. */
const MAX_DELAY_MS = 2 ** 31 - 1;

/**
 * Watches over the time of all tasks of a pool with one timer: how long they wait for a thread, how long they
 * work. A timer for each task would cost as much as a small task.
 */
export class TaskClock {
  readonly #tasks = new Set<PoolTask>();
  readonly #maxWaitMs: number;
  readonly #onDue: (task: PoolTask, cause: EndCause) => void;
  #timer: NodeJS.Timeout | undefined;
  /** When the timer looks next. */
  #nextLook: bigint | undefined;

  /**
   * @param maxWaitMs Milliseconds that a task may wait until its work starts.
   * @param onDue Called when a task's time has expired. It must set the task's `cause`.
   */
  constructor(maxWaitMs: number, onDue: (task: PoolTask, cause: EndCause) => void) {
    this.#maxWaitMs = maxWaitMs;
    this.#onDue = onDue;
  }

  /** The tasks that it watches over. */
  get tasks(): Iterable<PoolTask> {
    return this.#tasks;
  }

  add(task: PoolTask): void {
    this.#tasks.add(task);
    this.#lookAfter(Math.min(this.#maxWaitMs, allowedMs(task)), task.submittedAt);
    // As long as there are tasks, the process lives.
    if (this.#tasks.size === 1) this.#timer?.ref();
  }

  delete(task: PoolTask): void {
    this.#tasks.delete(task);
    if (this.#tasks.size === 0) this.#timer?.unref();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  /** Sets the timer, unless it looks sooner anyway. */
  #lookAfter(delayMs: number, now: bigint): void {
    const ms = Math.min(Math.ceil(delayMs), MAX_DELAY_MS);
    const at = now + BigInt(ms) * 1_000_000n;
    if (this.#nextLook !== undefined && this.#nextLook <= at) return;
    clearTimeout(this.#timer);
    this.#nextLook = at;
    this.#timer = setTimeout(this.#look, ms);
  }

  readonly #look = (): void => {
    this.#nextLook = undefined;
    const now = process.hrtime.bigint();
    let nextMs = Number.POSITIVE_INFINITY;
    for (const task of this.#tasks) {
      // One that is being ended is over when its thread is.
      if (task.cause !== undefined) continue;
      const { startedAt } = task;
      const isStarted = startedAt !== 0n;
      const leftMs = isStarted
        ? allowedMs(task) - msBetween(startedAt, now)
        : this.#maxWaitMs - msBetween(task.submittedAt, now);
      if (leftMs <= 0) this.#onDue(task, isStarted ? "timeout" : "waited");
      // Until the start is known, a look each `allowedMs` cannot miss the deadline that it sets.
      else nextMs = Math.min(nextMs, isStarted ? leftMs : Math.min(leftMs, allowedMs(task)));
    }
    if (this.#tasks.size > 0) this.#lookAfter(nextMs, now);
  };
}

function allowedMs({ options: { wallTimeMs = Number.POSITIVE_INFINITY, graceMs = 0 } }: PoolTask): number {
  return wallTimeMs + graceMs;
}
