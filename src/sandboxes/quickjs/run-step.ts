import type { PoolOutcome, PoolTaskOptions } from "../pool-task.ts";
import type { WorkerPool } from "../worker-pool.ts";
import { decodeAnswer, encodeTask, type WireAnswer } from "./task-wire.ts";
import type { QuickJsAnswer, QuickJsTask } from "./thread-task.ts";

/** Runs a step in a thread. */
export async function runStep(
  pool: WorkerPool,
  task: QuickJsTask,
  options: PoolTaskOptions,
): Promise<PoolOutcome<QuickJsAnswer>> {
  const outcome = await pool.run<WireAnswer>(encodeTask(task), options);
  return outcome.status === "returned" ? { ...outcome, result: decodeAnswer(outcome.result) } : outcome;
}
