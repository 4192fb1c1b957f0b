import type { PoolOutcome, PoolTask } from "./pool-task.ts";
import { PoolThread, type ThreadOptions, type ThreadOwner } from "./pool-thread.ts";

/**
 * Some of a pool's threads, with the tasks that wait for them. A task is given to the thread with the fewest
 * tasks, and an idle thread takes over tasks that wait in others. Therefore, no task waits while a thread is
 * free.
 */
export class ThreadLane implements ThreadOwner {
  readonly #threads = new Set<PoolThread>();
  /** Threads that are being ended. */
  readonly #leaving = new Set<PoolThread>();
  /** Those that no thread had room for; the first came first. */
  #waiting = new Set<PoolTask>();
  readonly #size: number;
  readonly #options: ThreadOptions;
  readonly #settle: (task: PoolTask, outcome: PoolOutcome<never>) => void;
  #isClosed = false;

  /** @param settle Called with what became of each task. */
  constructor(
    size: number,
    options: ThreadOptions,
    settle: (task: PoolTask, outcome: PoolOutcome<never>) => void,
  ) {
    this.#size = size;
    this.#options = options;
    this.#settle = settle;
  }

  /** Starts all threads. */
  fill(): void {
    while (this.#threads.size < this.#size) this.#start();
  }

  submit(task: PoolTask): void {
    let best: PoolThread | undefined;
    for (const thread of this.#threads) {
      if (thread.hasRoom && (best === undefined || thread.count < best.count)) best = thread;
    }
    if ((best === undefined || best.count > 0) && this.#threads.size < this.#size) best = this.#start();
    if (best === undefined) this.#waiting.add(task);
    else best.give(task);
  }

  #start(): PoolThread {
    const thread = new PoolThread(this.#options, this);
    this.#threads.add(thread);
    return thread;
  }

  /** Takes a task back that has not begun; `false` when it has. */
  takeBack(task: PoolTask): boolean {
    return this.#waiting.delete(task) || task.holder?.takeBack(task) === true;
  }

  /** Lets all threads forget an artifact. */
  forget(artifact: string): void {
    for (const thread of this.#threads) thread.forget(artifact);
  }

  /** Ends all threads. Resolves when they have ended or were abandoned. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#threads, ...this.#leaving].map((thread) => thread.end()));
  }

  onOutcome(task: PoolTask, outcome: PoolOutcome<never>): void {
    this.#settle(task, outcome);
  }

  onRoom(thread: PoolThread): void {
    for (const task of this.#waiting) {
      if (!thread.hasRoom) return;
      this.#waiting.delete(task);
      thread.give(task);
    }
    if (thread.count === 0) this.#steal(thread);
  }

  /** Gives an idle thread half of what waits in the busiest one. */
  #steal(thief: PoolThread): void {
    let busiest: PoolThread | undefined;
    for (const thread of this.#threads) {
      if (thread.count > (busiest?.count ?? 1)) busiest = thread;
    }
    if (busiest === undefined) return;
    const half = Math.ceil((busiest.count - 1) / 2);
    for (const task of busiest.takeBackSome(Math.min(half, thief.room))) thief.give(task);
  }

  onLeft(thread: PoolThread, left: readonly PoolTask[]): void {
    // The one that takes its place starts while it ends.
    if (!thread.isEnding) this.#resubmit(left);
    else {
      this.#threads.delete(thread);
      this.#leaving.add(thread);
      if (!this.#isClosed) this.#start();
      this.#resubmit(left);
    }
  }

  onGone(thread: PoolThread, left: readonly PoolTask[], failure: Error | undefined): void {
    const isKnown = this.#threads.delete(thread);
    this.#leaving.delete(thread);
    if (failure !== undefined) {
      // What does not start does not start again by itself.
      for (const task of left) {
        this.#settle(task, { status: "unavailable", reason: String(failure), wallTimeMs: 0 });
      }
      return;
    }
    if (isKnown && !this.#isClosed) this.#start();
    this.#resubmit(left);
  }

  /** They came before those that wait. */
  #resubmit(left: readonly PoolTask[]): void {
    if (left.length === 0) return;
    if (this.#isClosed) {
      for (const task of left) this.#settle(task, { status: "cancelled", started: false, wallTimeMs: 0 });
      return;
    }
    const behind = this.#waiting;
    this.#waiting = new Set();
    for (const task of left) this.submit(task);
    for (const task of behind) this.#waiting.add(task);
  }
}
