import type { MessagePort } from "node:worker_threads";
import type { LogLevel } from "../../tool/log-level.ts";

/** What each thread of a pool finds in its `workerData`. */
export interface ThreadData<Data = unknown> {
  /** The module whose default export is the pool's {@link ThreadFunction}. */
  readonly entry: string;
  /** The buffer of the `ThreadTable`. */
  readonly table: SharedArrayBuffer;
  /** The thread's end of the channel to the pool. */
  readonly port: MessagePort;
  /** What the pool's owner gives to each thread. */
  readonly data: Data;
}

/**
 * What the pool sends to a thread. Tasks come several at a time, and are arrays: the keys of objects take longer to
 * cross than small values.
 */
export type ToThread =
  | readonly GivenTask[]
  | { /** An artifact that is no longer needed. */ readonly forget: string }
  | { /** To what the task that runs has asked. */ readonly reply: string };

/**
 * A task. `artifact` names what it needs beside its fields; `value` is that itself, which is sent once, and kept
 * by its name.
 */
export type GivenTask = readonly [slot: number, fields: unknown, artifact?: string, value?: unknown];

/** What a thread sends to the pool, in the order in which it happens. Without a slot, it is ready for tasks. */
export type FromThread =
  | readonly []
  | readonly [slot: number, status: "returned", result: unknown, wallTimeMs: number]
  | readonly [slot: number, status: "threw", error: unknown, wallTimeMs: number]
  /** It was taken back before it began. */
  | readonly [slot: number, status: "skipped"]
  | readonly [slot: number, status: "told", message: ThreadMessage]
  /** The thread is blocked until the reply is there. */
  | readonly [slot: number, status: "asks", text: string];

/** What a running task tells before it ends. */
export type ThreadMessage =
  | { readonly type: "output"; readonly chunk: string }
  | { readonly type: "log"; readonly level: LogLevel; readonly message: string };

/** What the module of a pool's threads exports: runs one task. It may answer at once, or with a promise. */
export type ThreadFunction<Fields, Result> = (fields: Fields, thread: TaskThread) => Result | Promise<Result>;

/** What a running task has of its thread. */
export interface TaskThread {
  /** What the pool gave with the task beside its fields; the same object for every task that names it. */
  readonly artifact: unknown;
  /** To be called when the work itself begins: the wall time counts from here. */
  markStarted(): void;
  /** Has something done when the answer is on its way, and before the next task: it must be short. One such thing. */
  afterwards(work: () => void): void;
  /** Tells the task's observer. */
  tell(message: ThreadMessage): void;
  /**
   * Asks whoever submitted the task, and blocks the thread until the reply is there. The deadline and the
   * cancellation end the thread all the same.
   */
  request(text: string): string;
}
