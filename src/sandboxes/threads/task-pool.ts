import type { AbandonedThreads } from "./abandoned-threads.ts";
import type { PoolOutcome, PoolTaskOptions } from "./pool-task.ts";

/** Runs tasks in threads, and ends the thread of a task that is late or cancelled. */
export interface TaskPool {
  /** Runs a task. Never rejects. */
  run<Result>(fields: unknown, options: PoolTaskOptions): Promise<PoolOutcome<Result>>;
  /** Ends all running tasks. Later ones are refused. */
  close(): Promise<void>;
}

/** A pool of an embedder's threads. `piscinaPool` of `sandgate/piscina` returns one. */
export interface ForeignPool {
  /** @internal */
  open(options: ForeignPoolOptions): TaskPool;
}

/** What a sandbox tells a foreign pool. */
export interface ForeignPoolOptions {
  /** The path or `file:` URL of the module whose default export runs a task. It only reports from its thread. */
  readonly entry: string;
  /** Milliseconds that a task may wait until its work starts. */
  readonly maxWaitMs: number | undefined;
  readonly abandoned: AbandonedThreads;
}
