import { FairQueue, type QueueOwner } from "../../base/fair-queue.ts";
import type { AbandonedThreads } from "./abandoned-threads.ts";
import type { PoolOutcome, PoolTask, TaskQueue } from "./pool-task.ts";
import { PoolThread, type ThreadOptions, type ThreadOwner } from "./pool-thread.ts";
import { SLOTS } from "./thread-table.ts";

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

/** How many tasks have to end, after tasks were taken back, until one more may wait in each thread. */
const ENDS_PER_TASK_AHEAD = 32;

const NO_THREAD = "no thread can be started: too many could not be terminated";

/**
 * Some of a pool's threads, with the tasks that wait for them. The next free thread runs a task of the caller
 * whose turn it is. As long as all waiting tasks belong to one caller, they are given to threads in advance,
 * which avoids idle time between small tasks, and idle threads take tasks over from busy ones. When another
 * caller arrives, waiting tasks are taken back.
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
  /** Tasks that no thread has. */
  readonly #waiting = new FairQueue<PoolTask>(ownerOf);
  /** The last task that was given to a busy thread: all tasks that wait in threads have the same caller. */
  #ahead: PoolTask | undefined;
  /**
   * How many tasks have ended since some were last taken back. Giving them away costs as much as a small task, so that
   * there must be more of these.
   */
  #endsSince = Number.POSITIVE_INFINITY;
  /** The number of ended threads that have not been replaced. */
  #missing = 0;
  #isFilling = false;
  #isClosed = false;

  /** @param abandoned The threads that could not be ended. If there are too many, no thread is started. */
  constructor(options: LaneOptions, abandoned: AbandonedThreads, owner: LaneOwner) {
    this.#options = options;
    const { tasksEach = SLOTS, threadsPerTool } = options;
    this.#tasksEach = tasksEach;
    if (threadsPerTool !== undefined) {
      this.#isFree = (tool) => this.#threadsOf(tool) < threadsPerTool;
    }
    this.#abandoned = abandoned;
    this.#owner = owner;
  }

  /** Starts all threads, one after the other: in parallel, the first one would take longer to start. */
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
      this.#wait(task);
      return;
    }
    const hasTakenBack =
      this.#ahead !== undefined && !isOfOneCaller(task, this.#ahead) && this.#takeBackAhead();
    const thread = this.#idleThread ?? (this.#mayStart ? this.#start() : undefined);
    if (thread !== undefined) thread.give(task);
    else if (!this.#hasThread) this.#refuse([task], NO_THREAD);
    else if (this.#waiting.size > 0 || !this.#giveAhead(task)) this.#wait(task);
    if (hasTakenBack) this.#feedAll();
  }

  #wait(task: PoolTask): void {
    task.wait();
    this.#waiting.add(task);
  }

  get #idleThread(): PoolThread | undefined {
    for (const thread of this.#threads) if (thread.count === 0 && thread.hasFreePlace) return thread;
    return undefined;
  }

  /** The number of tasks that may be in a thread, running and waiting, while all that wait are of one caller. */
  get #tasksAtOnce(): number {
    return Math.min(1 + Math.floor(this.#endsSince / ENDS_PER_TASK_AHEAD), this.#tasksEach);
  }

  /** Gives a task to the busy thread with the fewest tasks. Returns `false` if it has to wait here. */
  #giveAhead(task: PoolTask): boolean {
    const most = this.#tasksAtOnce;
    let best: PoolThread | undefined;
    for (const thread of this.#threads) {
      if (thread.hasFreePlace && thread.count < most && (best === undefined || thread.count < best.count)) {
        best = thread;
      }
    }
    if (best === undefined) return false;
    this.#ahead = task;
    task.wait();
    best.give(task);
    return true;
  }

  /** Takes back the tasks that wait in threads, since another caller has come. Returns whether there were any. */
  #takeBackAhead(): boolean {
    this.#ahead = undefined;
    const taken: PoolTask[] = [];
    for (const thread of this.#threads) if (thread.count > 1) taken.push(...thread.takeBackSome(SLOTS));
    if (taken.length === 0) return false;
    this.#endsSince = 0;
    this.#putBack(taken);
    return true;
  }

  /** @param tasks Of one caller. */
  #putBack(tasks: readonly PoolTask[]): void {
    const [first] = tasks;
    if (first === undefined) return;
    this.#waiting.putBack(tasks.toSorted((one, other) => one.number - other.number));
    const isRunning = this.#threads
      .values()
      .some((thread) => thread.hasTask((task) => isOfOneCaller(task, first)));
    if (isRunning) this.#waiting.hadTurn(first);
  }

  #start(): PoolThread {
    const thread = new PoolThread(this.#options.threads, this);
    this.#threads.add(thread);
    if (this.#missing > 0) this.#missing--;
    return thread;
  }

  #threadsOf(tool: string | undefined): number {
    let count = 0;
    for (const thread of this.#threads) if (thread.hasTask(({ options }) => options.tool === tool)) count++;
    return count;
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
    this.#endsSince++;
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

  /** Gives a thread the next task if it is idle, and further tasks in advance if all belong to one caller. */
  #feed(thread: PoolThread): void {
    if (this.#waiting.size === 0) return;
    if (thread.count === 0) this.#giveNext(thread);
    const most = this.#tasksAtOnce;
    while (thread.count > 0 && thread.count < most && thread.hasFreePlace && this.#waiting.hasOneOwner) {
      this.#ahead = this.#giveNext(thread);
      if (this.#ahead === undefined) return;
    }
  }

  #giveNext(thread: PoolThread): PoolTask | undefined {
    if (!thread.hasFreePlace) return undefined;
    const task = this.#waiting.next(this.#isFree);
    if (task !== undefined) thread.give(task);
    return task;
  }

  /** Gives tasks that wait to all threads, to the idle ones first. */
  #feedAll(): void {
    for (const thread of this.#threads) if (thread.count === 0) this.#giveNext(thread);
    for (const thread of this.#threads) this.#feed(thread);
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

  /** Has tasks run that had not started in a thread which is not available any more, before those that wait here. */
  #goOn(left: readonly PoolTask[]): void {
    this.#startMissing();
    if (this.#isClosed) {
      for (const task of left)
        this.#owner.onOutcome(task, { status: "cancelled", started: false, wallTimeMs: 0 });
      return;
    }
    for (const task of left) task.wait();
    this.#putBack(left);
    while (this.#waiting.size > 0 && this.#idleThread === undefined && this.#mayStart) {
      this.#giveNext(this.#start());
    }
    this.#feedAll();
    if (!this.#hasThread) this.#refuse(this.#waiting.takeAll(), NO_THREAD);
  }

  /** Starts replacements for ended threads, as far as allowed. */
  #startMissing(): void {
    while (this.#missing > 0 && this.#mayStart) this.#start();
  }

  #refuse(tasks: Iterable<PoolTask>, reason: string): void {
    for (const task of tasks) this.#owner.onOutcome(task, { status: "unavailable", reason, wallTimeMs: 0 });
  }
}

function ownerOf({ options: { caller, session, tool } }: PoolTask): QueueOwner {
  return { principal: caller, session, tool };
}

function isOfOneCaller({ options: one }: PoolTask, { options: other }: PoolTask): boolean {
  return one.caller === other.caller && one.session === other.session && one.tool === other.tool;
}
