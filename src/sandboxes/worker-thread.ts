import { parentPort } from "node:worker_threads";
import type { LogLevel } from "./log-level.ts";

/** What every task that enters a pool's thread carries beside its own fields. */
export interface ThreadTask {
  /** Routes {@link Envelope}s back to their task. */
  readonly taskId: number;
  /** What the thread and the pool both see while the task runs; see {@link STARTED_AT}. */
  readonly shared: BigInt64Array;
}

/** In {@link ThreadTask.shared}: when the work began (`process.hrtime.bigint()`), 0 before. */
export const STARTED_AT = 0;

/** In {@link ThreadTask.shared}: how many messages were sent. They travel apart from the task's result. */
export const MESSAGES_SENT = 1;

/** What a running task tells before it ends. */
export type ThreadMessage =
  | { readonly type: "output"; readonly chunk: string }
  | { readonly type: "log"; readonly level: LogLevel; readonly message: string };

/** A message on its way to its task's observer. */
export interface Envelope {
  readonly taskId: number;
  readonly message: ThreadMessage;
}

/** Called by a thread when the work itself begins: the wall time counts from here. */
export function markStarted({ shared }: ThreadTask): void {
  Atomics.store(shared, STARTED_AT, process.hrtime.bigint());
}

/** Sends a message of a running task to the pool. */
export function tell({ taskId, shared }: ThreadTask, message: ThreadMessage): void {
  Atomics.add(shared, MESSAGES_SENT, 1n);
  parentPort?.postMessage({ taskId, message } satisfies Envelope);
}
