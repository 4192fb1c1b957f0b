import { availableParallelism } from "node:os";
import { DeadlineTimer } from "../../base/timers.ts";
import { DEFAULT_MAX_WAIT_MS } from "../contract/sandbox.ts";
import { AbandonedThreads } from "./abandoned-threads.ts";
import { type EndCause, type PoolOutcome, PoolTask, type PoolTaskOptions } from "./pool-task.ts";
import type { ThreadOptions } from "./pool-thread.ts";
import { type LaneOptions, type LaneOwner, ThreadLane } from "./thread-lane.ts";
import { msBetween } from "./thread-table.ts";

/** A task that occupied its thread for less than this did not delay other tasks, whatever its deadline. */
const LONG_MS = 50;

/** Number of consecutive calls in time after which a tool is no longer slow. */
const CALLS_OWED = 64;

/** Milliseconds without an exceeded deadline after which a tool is no longer slow. */
const FORGIVEN_AFTER_MS = 60_000;

/** Maximum number of slow tools. Those that exceeded a deadline least recently are forgotten first. */
const MAX_TOOLS = 1_000;

interface SlowTool {
  readonly lastDeadlineAt: number;
  owed: number;
}

/** The tools whose calls exceed their deadlines, and would occupy the threads that other tools need. */
export class SlowTools {
  /** Ordered by the last exceeded deadline, oldest first. */
  readonly #tools = new Map<string, SlowTool>();

  has(tool: string | undefined): boolean {
    if (this.#tools.size === 0 || tool === undefined) return false;
    const slow = this.#tools.get(tool);
    if (slow === undefined) return false;
    if (performance.now() - slow.lastDeadlineAt < FORGIVEN_AFTER_MS) return true;
    this.#tools.delete(tool);
    return false;
  }

  /** Evaluates a task that has ended. Returns whether its tool has become slow. */
  learn({ options: { tool, wallTimeMs } }: PoolTask, outcome: PoolOutcome<unknown>): boolean {
    if (tool === undefined || wallTimeMs === undefined) return false;
    if (outcome.wallTimeMs >= Math.max(wallTimeMs, LONG_MS)) return this.#addDeadline(tool);
    if (outcome.status === "returned" && this.#tools.size > 0) this.#addCallInTime(tool);
    return false;
  }

  #addDeadline(tool: string): boolean {
    const isNew = !this.#tools.delete(tool);
    this.#tools.set(tool, { lastDeadlineAt: performance.now(), owed: CALLS_OWED });
    if (this.#tools.size > MAX_TOOLS) {
      for (const oldest of this.#tools.keys()) {
        this.#tools.delete(oldest);
        break;
      }
    }
    return isNew;
  }

  #addCallInTime(tool: string): void {
    const slow = this.#tools.get(tool);
    if (slow !== undefined && --slow.owed === 0) this.#tools.delete(tool);
  }
}

/** Times the tasks of a pool, while they wait for a thread and while they run. */
class TaskClock extends DeadlineTimer<PoolTask> {
  /**
   * @param maxWaitMs Milliseconds that a task may wait until its work starts.
   * @param onDue Called when a task's time has expired. It must set the task's `cause`.
   */
  constructor(maxWaitMs: number, onDue: (task: PoolTask, cause: EndCause) => void) {
    super({
      deadlineOf: (task) => deadlineOf(task, maxWaitMs),
      expire: (task) => {
        const isStarted = task.startedAt !== 0n;
        // The task may have started since its deadline was computed, which changes the deadline.
        if (isStarted && deadlineOf(task, maxWaitMs) > performance.now()) return;
        onDue(task, isStarted ? "timeout" : "waited");
      },
      keepsAlive: true,
    });
  }
}

/** The options of a pool of worker threads. */
export interface WorkerPoolOptions {
  /**
   * Number of threads. Default: the machine's available parallelism. Up to half as many, but at least two,
   * are added for tools that exceed their deadlines. Calls that other calls wait for have the same numbers of
   * threads for each depth.
   */
  readonly threads?: number;
  /**
   * Milliseconds that a call may wait in all until it begins, for a free thread, the memory of a virtual machine, or at an
   * executor: its wall time passes only then. One that waited longer fails with `sandbox_unavailable` and has no effect.
   * Default: 30,000.
   */
  readonly maxWaitMs?: number;
}

/** The options of a sandbox's pool. */
export interface PoolOptions extends WorkerPoolOptions {
  /** Counts the threads that could not be ended. Their number is bounded for all pools that share it. */
  readonly abandoned?: AbandonedThreads;
  /** The open pools, for statistics. A pool adds itself, and removes itself when it is closed. */
  readonly pools?: Set<WorkerPool>;
}

/**
 * A pool of threads. A deadline or a cancellation ends the thread that runs the task, and the pool starts
 * another one. A thread that does not end in time is abandoned: nothing waits for it. A thread runs one task
 * at a time. Callers take turns for the threads: see `ThreadLane`. Tools that exceed their deadlines have separate threads,
 * and wait for each other only.
 */
export class WorkerPool implements LaneOwner {
  /** Lanes by depth of nesting. */
  readonly #lanes: ThreadLane[] = [];
  readonly #slowLanes: ThreadLane[] = [];
  readonly #normal: LaneOptions;
  readonly #slow: LaneOptions;
  readonly #maxWaitMs: number;
  readonly #clock: TaskClock;
  readonly #slowTools = new SlowTools();
  readonly #abandoned: AbandonedThreads;
  readonly #pools: Set<WorkerPool> | undefined;
  #isClosed = false;

  constructor(threads: ThreadOptions, options: PoolOptions = {}) {
    const size = options.threads ?? availableParallelism();
    const slowSize = Math.max(2, Math.ceil(size / 2));
    this.#normal = { threads, size };
    this.#slow = {
      threads: { ...threads, yields: true },
      size: slowSize,
      tasksEach: 1,
      threadsPerTool: slowSize - 1,
    };
    this.#abandoned = options.abandoned ?? new AbandonedThreads(options.threads);
    this.#maxWaitMs = options.maxWaitMs ?? DEFAULT_MAX_WAIT_MS;
    this.#clock = new TaskClock(this.#maxWaitMs, this.#end);
    this.#pools = options.pools?.add(this);
    this.#laneAt(0, this.#lanes, this.#normal).fill();
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
    const reason = this.#abandoned.refusal(options.tool);
    if (reason !== undefined) return Promise.resolve({ status: "unavailable", reason, wallTimeMs: 0 });
    return new Promise((resolve) => {
      const task = new PoolTask(fields, options, resolve, this.#cancel);
      this.#clock.add(task);
      this.#submit(task);
    });
  }

  /** The number of tasks whose work has not begun. */
  get waiting(): number {
    let count = 0;
    for (const { startedAt } of this.#clock.items) if (startedAt === 0n) count++;
    return count;
  }

  #submit(task: PoolTask): void {
    const { tool, nesting = 0 } = task.options;
    const lane = this.#slowTools.has(tool)
      ? this.#laneAt(nesting, this.#slowLanes, this.#slow)
      : this.#laneAt(nesting, this.#lanes, this.#normal);
    lane.submit(task);
  }

  #laneAt(nesting: number, lanes: ThreadLane[], options: LaneOptions): ThreadLane {
    for (;;) {
      const lane = lanes[nesting];
      if (lane !== undefined) return lane;
      lanes.push(new ThreadLane(options, this.#abandoned, this));
    }
  }

  get #allLanes(): readonly ThreadLane[] {
    return [...this.#lanes, ...this.#slowLanes];
  }

  /** Deletes an artifact, which no later task may need, in all threads. */
  forget(artifact: string): void {
    for (const lane of this.#allLanes) lane.forget(artifact);
  }

  /** Ends all threads with their running tasks. Threads that cannot be ended are abandoned. Idempotent. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const closing = this.#allLanes.map((lane) => lane.close());
    for (const task of this.#clock.items) this.#cancel(task);
    await Promise.all(closing);
    this.#clock.stop();
    this.#pools?.delete(this);
  }

  readonly #cancel = (task: PoolTask): void => this.#end(task, "cancelled");

  readonly #end = (task: PoolTask, cause: EndCause): void => {
    if (task.cause !== undefined) return;
    task.cause = cause;
    if (task.queue?.takeBack(task) !== true) task.thread?.endUnder(task);
    else if (cause === "waited") {
      const reason = `no free thread within ${this.#maxWaitMs} ms`;
      this.onOutcome(task, { status: "unavailable", reason, hasWaited: true, wallTimeMs: 0 });
    } else this.onOutcome(task, { status: cause, started: false, wallTimeMs: 0 });
  };

  onOutcome(task: PoolTask, outcome: PoolOutcome<never>): void {
    this.#clock.delete(task);
    task.settle(outcome);
    const { tool } = task.options;
    if (this.#slowTools.learn(task, outcome) && tool !== undefined) this.#moveToSlowLanes(tool);
  }

  /** Moves the waiting tasks of a tool that has become slow. */
  #moveToSlowLanes(tool: string): void {
    for (const lane of this.#lanes) for (const task of lane.takeTool(tool)) this.#submit(task);
  }

  /** Refuses the waiting tasks of a tool, which could probably not be ended either. */
  onAbandoned(tool: string): void {
    const reason = this.#abandoned.refusal(tool) ?? "";
    for (const lane of this.#allLanes) {
      for (const task of lane.takeTool(tool)) {
        this.onOutcome(task, { status: "unavailable", reason, wallTimeMs: 0 });
      }
    }
  }
}

function deadlineOf(task: PoolTask, maxWaitMs: number): number {
  // A task that is being ended is retained until its thread has ended.
  if (task.cause !== undefined) return Number.POSITIVE_INFINITY;
  const { wallTimeMs = Number.POSITIVE_INFINITY, graceMs = 0, waitedMs = 0 } = task.options;
  const allowedMs = wallTimeMs + graceMs;
  const { startedAt } = task;
  // Until the start is known, checking every `allowedMs` is enough to notice the deadline that follows from
  // it.
  if (startedAt === 0n) {
    return Math.min(task.submittedAt + maxWaitMs - waitedMs, performance.now() + allowedMs);
  }
  const elapsedMs = msBetween(startedAt, process.hrtime.bigint());
  return performance.now() - elapsedMs + allowedMs;
}
