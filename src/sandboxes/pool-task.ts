import type { TaskObserver } from "./sandbox.ts";

/** What a pool is told of one task. */
export interface PoolTaskOptions {
  /** From the start of the work until the thread is ended; `undefined` for no limit. */
  readonly wallTimeMs: number | undefined;
  /** How much longer the thread may take to end the work by itself. Default: 0. */
  readonly graceMs?: number;
  readonly signal: AbortSignal | undefined;
  readonly observer: TaskObserver;
}

/** What became of a task in a thread. `wallTimeMs` counts from the start of the work. */
export type PoolOutcome<Result> = { readonly wallTimeMs: number } & (
  | { readonly status: "returned"; readonly result: Result }
  /** The thread was ended; `started` tells whether the work had begun. */
  | { readonly status: "timeout" | "cancelled"; readonly started: boolean }
  /** The thread broke under the task. */
  | { readonly status: "crashed"; readonly started: boolean; readonly error: Error }
  /** No thread took the task. */
  | { readonly status: "unavailable"; readonly reason: string }
);
