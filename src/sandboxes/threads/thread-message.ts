import type { MessagePort } from "node:worker_threads";
import type { LogLevel } from "../../tool/streamed.ts";

/** The `workerData` of each thread of a pool. */
export interface ThreadData<Data = unknown> {
  /** The module whose default export is the pool's {@link ThreadFunction}. */
  readonly entry: string;
  /** The buffer of the `ThreadTable`. */
  readonly table: SharedArrayBuffer;
  /** The thread's end of the channel to the pool. */
  readonly port: MessagePort;
  /** Data from the pool's owner. */
  readonly data: Data;
  /** Whether the thread yields the CPU to other threads of this process. */
  readonly yields: boolean;
}

/**
 * A message of the pool to a thread. Several tasks are sent together, as arrays: cloning the keys of objects
 * takes longer than small values.
 */
export type ToThread =
  | readonly GivenTask[]
  | { /** An artifact that is no longer needed. */ readonly forget: string }
  | { /** The reply to a request of the running task. */ readonly reply: unknown };

/**
 * A task. `artifact` is the name of the artifact that it needs, and `value` the artifact itself, which is
 * sent only once and cached by its name.
 */
export type GivenTask = readonly [slot: number, fields: unknown, artifact?: string, value?: unknown];

/** A message of a thread to the pool. An empty array means that the thread is ready for tasks. */
export type FromThread =
  | readonly []
  | readonly [slot: number, status: "returned", result: unknown, wallTimeMs: number]
  | readonly [slot: number, status: "threw", error: unknown, wallTimeMs: number]
  /** The task was taken back before it started. */
  | readonly [slot: number, status: "skipped"]
  | readonly [slot: number, status: "message", message: ThreadMessage]
  /** The thread is blocked until the reply arrives. */
  | readonly [slot: number, status: "asks", request: unknown];

/** Output or a log line of a running task. */
export type ThreadMessage =
  | { readonly type: "output"; readonly chunk: string }
  | { readonly type: "log"; readonly level: LogLevel; readonly message: string };

/**
 * The default export of the module that a pool's threads run. Runs one task, and returns its result or a
 * promise.
 */
export type ThreadFunction<Fields, Result> = (fields: Fields, thread: TaskThread) => Result | Promise<Result>;

/** The thread of a running task, as far as it only reports. */
export interface ReportingThread {
  /** Must be called when the work itself starts. The wall time counts from here. */
  markStarted(): void;
  /** Sends output or a log line to the task's observer. */
  report(message: ThreadMessage): void;
}

/** The thread of a running task. */
export interface TaskThread extends ReportingThread {
  /** The task's artifact: the same object for all tasks that need it. */
  readonly artifact: unknown;
  /**
   * Sets a short function to run after the result has been sent and before the next task. Replaces an earlier
   * one.
   */
  afterwards(work: () => void): void;
  /** Moves buffers of the result to the pool, instead of copying them. */
  move(buffers: readonly ArrayBuffer[]): void;
  /**
   * Reports that linear memories of this size will not be used after the task. Those of many tasks are
   * released together.
   */
  discard(bytes: number): void;
  /**
   * Sends a request to the submitter of the task, and blocks the thread until the reply arrives. A deadline
   * or a cancellation ends the thread even while it is blocked. Request and reply are cloned.
   */
  request(request: unknown): unknown;
}

/** What one call may log. Further lines are dropped. */
export interface LogBudget {
  readonly lines: number;
  /** Bytes of text. */
  readonly bytes: number;
}

/** The budget of a call whose grant does not limit log lines. */
export const DEFAULT_LOG_BUDGET: LogBudget = Object.freeze({
  lines: Number.POSITIVE_INFINITY,
  bytes: 65_536,
});

/** Sends an untrusted tool's log lines to the pool, within a budget. */
export class ThreadLog {
  readonly #thread: TaskThread;
  #leftLines: number;
  #leftBytes: number;

  constructor(thread: TaskThread, budget: LogBudget = DEFAULT_LOG_BUDGET) {
    this.#thread = thread;
    this.#leftLines = budget.lines;
    this.#leftBytes = budget.bytes;
  }

  /** The rest of the budget; zero after a line was dropped. */
  get left(): LogBudget {
    return { lines: Math.max(this.#leftLines, 0), bytes: Math.max(this.#leftBytes, 0) };
  }

  write(level: LogLevel, message: string): void {
    if (this.#leftBytes <= 0 || this.#leftLines < 0) return;
    this.#leftLines--;
    this.#leftBytes -= Buffer.byteLength(message) + 1;
    const isWithin = this.#leftLines >= 0 && this.#leftBytes > 0;
    const line = isWithin ? message : "(log truncated: the call wrote too much)";
    this.#thread.report({ type: "log", level, message: line });
  }
}
