import { availableParallelism } from "node:os";
import { DEFAULT_MAX_WAIT_MS } from "../contract/sandbox.ts";
import { AbandonedThreads } from "./abandoned/abandoned-threads.ts";
import { SlowTools } from "./fairness/slow-tools.ts";
import { type EndCause, type PoolOutcome, PoolTask, type PoolTaskOptions } from "./pool-task.ts";
import type { ThreadOptions } from "./pool-thread.ts";
import { TaskClock } from "./task-clock.ts";
import { type LaneOptions, type LaneOwner, ThreadLane } from "./thread-lane.ts";

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
