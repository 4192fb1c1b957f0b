import type { AbandonedThreads } from "./abandoned/abandoned-threads.ts";
import { WaitingTasks } from "./fairness/waiting-tasks.ts";
import type { PoolOutcome, PoolTask, TaskQueue } from "./pool-task.ts";
import { PoolThread, type ThreadOptions, type ThreadOwner } from "./pool-thread.ts";

/** The options of a lane. */
export interface LaneOptions {
  readonly threads: ThreadOptions;
  readonly size: number;
  /** Maximum number of tasks in a thread, running and waiting. Default: as many as fit. */
  readonly tasksEach?: number;
  /** Maximum number of threads for the tasks of one tool. Default: all. */
  readonly threadsPerTool?: number;
}

/** Receives the events of a lane. */
export interface LaneOwner {
  /** A task has ended. */
  onOutcome(task: PoolTask, outcome: PoolOutcome<never>): void;
  /** A thread that runs a task of the tool could not be ended. */
  onAbandoned(tool: string): void;
}

const NO_THREAD = "no thread can be started: too many could not be terminated";

/**
 * Some of a pool's threads, with the tasks that wait for them. A task is given to the thread with the fewest
 * tasks, and an idle thread takes over tasks that wait in others. Therefore, no task waits while a thread is
 * free.
 */
export class ThreadLane implements ThreadOwner, TaskQueue {
  readonly #options: LaneOptions;
  readonly #abandoned: AbandonedThreads;
  readonly #owner: LaneOwner;
  readonly #tasksEach: number;
  /** Whether a tool may use one more thread; absent if there is no limit. */
  readonly #isFree: ((tool: string | undefined) => boolean) | undefined;
  readonly #threads = new Set<PoolThread>();
  /** Threads that are being ended. */
  readonly #leaving = new Set<PoolThread>();
  /** Tasks for which no thread was free. */
  readonly #waiting = new WaitingTasks();
  /** The number of ended threads that have not been replaced. */
  #missing = 0;
  #isFilling = false;
  #isClosed = false;

  /** @param abandoned The threads that could not be ended. If there are too many, no thread is started. */
  constructor(options: LaneOptions, abandoned: AbandonedThreads, owner: LaneOwner) {
    this.#options = options;
    const { tasksEach = Number.POSITIVE_INFINITY, threadsPerTool } = options;
    this.#tasksEach = tasksEach;
    if (threadsPerTool !== undefined) {
      this.#isFree = (tool) => this.#threadsOf(tool) < threadsPerTool;
    }
    this.#abandoned = abandoned;
    this.#owner = owner;
  }

  /** Starts all threads, one after the other: the first one would take longer to start with the others beside it. */
  fill(): void {
    this.#isFilling = true;
    this.onReady();
  }

  onReady(): void {
    if (this.#isFilling && this.#mayStart) this.#start();
  }

  get #mayStart(): boolean {
    return (
      this.#threads.size < this.#options.size && !this.#isClosed && this.#abandoned.canAdd(this.#leaving.size)
    );
  }

  /** Whether it has a thread, or will have one when another has ended. */
  get #hasThread(): boolean {
    return this.#threads.size > 0 || this.#leaving.size > 0;
  }

  submit(task: PoolTask): void {
    task.queue = this;
    if (this.#isFree !== undefined && !this.#isFree(task.options.tool)) {
      this.#waiting.add(task);
      return;
    }
    let best: PoolThread | undefined;
    for (const thread of this.#threads) {
      if (this.#canTake(thread) && (best === undefined || thread.count < best.count)) best = thread;
    }
    if ((best === undefined || best.count > 0) && this.#mayStart) best = this.#start();
    if (best !== undefined) best.give(task);
    else if (this.#hasThread) this.#waiting.add(task);
    else this.#refuse([task], NO_THREAD);
  }

  #start(): PoolThread {
    const thread = new PoolThread(this.#options.threads, this);
    this.#threads.add(thread);
    if (this.#missing > 0) this.#missing--;
    return thread;
  }

  #threadsOf(tool: string | undefined): number {
    let count = 0;
    for (const thread of this.#threads) if (thread.hasTool(tool)) count++;
    return count;
  }

  #canTake(thread: PoolThread): boolean {
    return thread.hasFreePlace && thread.count < this.#tasksEach;
  }

  takeBack(task: PoolTask): boolean {
    return this.#waiting.delete(task) || task.thread?.takeBack(task) === true;
  }

  /** Takes back all tasks of a tool that have not started. */
  takeTool(tool: string): readonly PoolTask[] {
    const taken = [...this.#waiting.takeTool(tool)];
    for (const thread of this.#threads) taken.push(...thread.takeTool(tool));
    return taken;
  }

  /** Deletes an artifact in all threads. */
  forget(artifact: string): void {
    for (const thread of this.#threads) thread.forget(artifact);
  }

  /** Ends all threads. Resolves when they have ended or were abandoned. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#threads, ...this.#leaving].map((thread) => thread.end()));
  }

  onOutcome(task: PoolTask, outcome: PoolOutcome<never>): void {
    this.#owner.onOutcome(task, outcome);
  }

  onAbandoned(thread: PoolThread, tool: string | undefined): void {
    this.#abandoned.add(thread, tool);
    if (tool !== undefined) this.#owner.onAbandoned(tool);
  }

  onEndedLate(thread: PoolThread): void {
    this.#abandoned.delete(thread);
    this.#goOn([]);
  }

  onFreePlace(thread: PoolThread): void {
    this.#feed(thread);
    if (thread.count === 0) this.#steal(thread);
  }

  #feed(thread: PoolThread): void {
    while (this.#canTake(thread)) {
      const task = this.#waiting.next(this.#isFree);
      if (task === undefined) return;
      thread.give(task);
    }
  }

  /** Gives an idle thread half of the tasks that wait in the busiest one. */
  #steal(thief: PoolThread): void {
    let busiest: PoolThread | undefined;
    for (const thread of this.#threads) {
      if (thread.count > (busiest?.count ?? 1)) busiest = thread;
    }
    if (busiest === undefined) return;
    const half = Math.ceil((busiest.count - 1) / 2);
    for (const task of busiest.takeBackSome(Math.min(half, thief.freePlaces))) thief.give(task);
  }

  onLeft(thread: PoolThread, left: readonly PoolTask[]): void {
    if (thread.isEnding && this.#threads.delete(thread)) {
      this.#leaving.add(thread);
      this.#missing++;
    }
    // The replacement starts while the thread ends.
    this.#goOn(left);
  }

  onGone(thread: PoolThread, left: readonly PoolTask[], failure: Error | undefined): void {
    const wasInUse = this.#threads.delete(thread);
    this.#leaving.delete(thread);
    if (failure !== undefined) {
      // After a failed start, no thread is started until the next task is submitted.
      this.#refuse(left, String(failure));
      if (!this.#hasThread) this.#refuse(this.#waiting.takeAll(), String(failure));
      return;
    }
    if (wasInUse) this.#missing++;
    this.#goOn(left);
  }

  #goOn(left: readonly PoolTask[]): void {
    const started = this.#startMissing();
    this.#resubmit(left);
    for (const thread of started) this.#feed(thread);
    if (!this.#hasThread) this.#refuse(this.#waiting.takeAll(), NO_THREAD);
  }

  /** Starts replacements for ended threads, as far as allowed. */
  #startMissing(): readonly PoolThread[] {
    const started: PoolThread[] = [];
    while (this.#missing > 0 && this.#mayStart) started.push(this.#start());
    return started;
  }

  /** Submits tasks again, before those that already wait here, since they were submitted earlier. */
  #resubmit(left: readonly PoolTask[]): void {
    if (left.length === 0) return;
    if (this.#isClosed) {
      for (const task of left)
        this.#owner.onOutcome(task, { status: "cancelled", started: false, wallTimeMs: 0 });
      return;
    }
    const behind = this.#waiting.takeAll();
    for (const task of left) this.submit(task);
    for (const task of behind) this.#waiting.add(task);
  }

  #refuse(tasks: Iterable<PoolTask>, reason: string): void {
    for (const task of tasks) this.#owner.onOutcome(task, { status: "unavailable", reason, wallTimeMs: 0 });
  }
}
