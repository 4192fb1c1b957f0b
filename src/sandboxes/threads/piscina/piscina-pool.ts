import { pathToFileURL } from "node:url";
import type { Piscina } from "piscina";
import { entryFile } from "../../../base/entry-file.ts";
import { DEFAULT_MAX_WAIT_MS } from "../../contract/sandbox.ts";
import type { PoolOutcome, PoolTaskOptions } from "../pool-task.ts";
import type { ForeignPool, ForeignPoolOptions, TaskPool } from "../task-pool.ts";
import { PiscinaRun } from "./piscina-run.ts";

/**
 * Lets the modules of `host` tools run in the threads of your own Piscina, for `openSandboxes({ workers: { pool } })`.
 * Your tasks can use the same threads. A deadline or a cancellation ends the thread of a call, and Piscina starts another
 * one. Closing the sandboxes ends their calls; the pool stays open.
 *
 * @param piscina With one task per thread and its own load balancer: ending a thread must end no other task.
 * @throws {TypeError} if it is configured otherwise.
 */
export function piscinaPool(piscina: Piscina): ForeignPool {
  const { concurrentTasksPerWorker, loadBalancer } = piscina.options;
  if (concurrentTasksPerWorker !== 1) {
    throw new TypeError(
      "piscinaPool: the pool must have 'concurrentTasksPerWorker: 1', since a deadline ends the whole thread",
    );
  }
  if (loadBalancer !== undefined) {
    throw new TypeError(
      "piscinaPool: the pool must not have a 'loadBalancer', which could give a thread several tasks",
    );
  }
  return { open: (options) => new PiscinaPool(piscina, options) };
}

class PiscinaPool implements TaskPool {
  readonly #piscina: Piscina;
  readonly #options: ForeignPoolOptions;
  readonly #filename = entryFile("sandboxes/threads/piscina/worker-entry");
  readonly #running = new Set<PiscinaRun>();
  #isClosed = false;

  constructor(piscina: Piscina, options: ForeignPoolOptions) {
    this.#piscina = piscina;
    this.#options = options;
  }

  async run<Result>(fields: unknown, options: PoolTaskOptions): Promise<PoolOutcome<Result>> {
    const { abandoned, entry, maxWaitMs = DEFAULT_MAX_WAIT_MS } = this.#options;
    const reason = this.#isClosed ? "the pool is closed" : abandoned.refusal(options.tool);
    if (reason !== undefined) return { status: "unavailable", reason, wallTimeMs: 0 };
    if (options.signal?.aborted) return { status: "cancelled", started: false, wallTimeMs: 0 };
    const run = new PiscinaRun(this.#piscina, abandoned, options);
    this.#running.add(run);
    try {
      return (await run.outcome(
        this.#filename,
        { entry: pathToFileURL(entry).href, fields },
        Math.max(maxWaitMs - (options.waitedMs ?? 0), 1),
      )) as PoolOutcome<Result>;
    } finally {
      this.#running.delete(run);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(Array.from(this.#running, (run) => run.end("cancelled")));
  }
}
