import { parentPort } from "node:worker_threads";
import type { LogLevel } from "./sandbox.ts";

/** What every task that enters a pool's thread carries beside its own fields. */
export interface ThreadTask {
  /** Routes {@link ThreadMessage}s back to their task. */
  readonly taskId: number;
  /** Where the thread writes when the work began: `process.hrtime.bigint()`, 0 before. */
  readonly startedAt: BigInt64Array;
}

/** What a running task tells before it ends. */
export type ThreadMessage = { readonly taskId: number } & (
  | { readonly type: "output"; readonly chunk: string }
  | { readonly type: "log"; readonly level: LogLevel; readonly message: string }
);

/** Called by a thread when the work itself begins: the wall time counts from here. */
export function markStarted({ startedAt }: ThreadTask): void {
  Atomics.store(startedAt, 0, process.hrtime.bigint());
}

/** Sends a message of a running task to the pool. */
export function tell(message: ThreadMessage): void {
  parentPort?.postMessage(message);
}
