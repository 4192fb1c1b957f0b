import type { ResourceUse, SandboxOutcome } from "../contract/outcome.ts";
import type { PoolOutcome, PoolTask } from "./pool-task.ts";
import { msBetween } from "./thread-table.ts";

/**
 * Returns the outcome of a task because of which its thread was ended.
 *
 * @param hasEnded Whether the thread has ended. Otherwise, it was abandoned.
 */
export function endedOutcome(task: PoolTask, hasEnded: boolean): PoolOutcome<never> {
  const { cause } = task;
  const { started, wallTimeMs } = sinceStart(task);
  if (cause !== "timeout" && cause !== "cancelled" && !started) {
    return { status: "unavailable", reason: "its work did not start in time", hasWaited: true, wallTimeMs };
  }
  // Work can start just when its thread is ended because it has not.
  const status = cause === "cancelled" ? cause : "timeout";
  if (hasEnded) return { status, started, wallTimeMs };
  return { status, started, mayStillRun: true, wallTimeMs };
}

/** Returns the members of a call's outcome that report a thread that could not be ended; none if it was. */
export function notEnded({
  mayStillRun,
}: {
  readonly mayStillRun?: true;
}): Pick<SandboxOutcome, "mayStillRun" | "ended" | "detail"> {
  if (!mayStillRun) return NOTHING;
  return { mayStillRun, ended: "told", detail: "its thread could not be terminated and is still running" };
}

/** Returns the outcome of a call that no thread ran. */
export function notRun(
  outcome: Extract<PoolOutcome<unknown>, { readonly status: "unavailable" }>,
): SandboxOutcome {
  const { reason, hasWaited } = outcome;
  const used = timesOf(outcome);
  return { status: "unavailable", effect: "none", used, detail: reason, ...(hasWaited && { hasWaited }) };
}

/** Returns what a task used: its time, and how long it waited for a thread. */
export function timesOf({
  wallTimeMs,
  waitedMs,
}: PoolOutcome<unknown>): Pick<ResourceUse, "wallTimeMs" | "waitedMs"> {
  return waitedMs === undefined ? { wallTimeMs } : { wallTimeMs, waitedMs };
}

const NOTHING = Object.freeze({});

/** Returns the outcome of a task whose thread ended unexpectedly. */
export function crashedOutcome(task: PoolTask, error: Error): PoolOutcome<never> {
  return { status: "crashed", error, ...sinceStart(task) };
}

function sinceStart({ startedAt }: PoolTask): { readonly started: boolean; readonly wallTimeMs: number } {
  const started = startedAt !== 0n;
  return { started, wallTimeMs: started ? msBetween(startedAt, process.hrtime.bigint()) : 0 };
}
