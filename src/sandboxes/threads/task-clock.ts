import { DeadlineTimer } from "../../base/timers/deadline-timer.ts";
import type { EndCause, PoolTask } from "./pool-task.ts";
import { msBetween } from "./thread-table.ts";

/** Times the tasks of a pool, while they wait for a thread and while they run. */
export class TaskClock extends DeadlineTimer<PoolTask> {
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

function deadlineOf(task: PoolTask, maxWaitMs: number): number {
  // A task that is being ended is kept until its thread has ended.
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
