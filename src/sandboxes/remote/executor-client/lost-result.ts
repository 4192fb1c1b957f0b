import type { SandboxOutcome } from "../../contract/outcome.ts";
import type { ExecutorEndpoint } from "./endpoint.ts";
import type { Verdict } from "./verdict.ts";

/**
 * How often a call that changes nothing is run again after its result was lost: it may be the call that
 * crashes executors.
 */
const MAX_RERUNS = 2;

/**
 * A call whose result was lost: its executor may have run it, and may still have the result. A call that
 * changes nothing may run again, on any executor. For other calls, the same executor is asked for the result.
 */
export class LostResult {
  /** The executor that had the call. */
  readonly endpoint: ExecutorEndpoint;
  /** The outcome as long as the executor does not report another one. */
  readonly outcome: SandboxOutcome;
  /** Whether the call may run again. */
  readonly isRepeatable: boolean;
  #losses = 1;

  constructor(endpoint: ExecutorEndpoint, outcome: SandboxOutcome, isRepeatable: boolean) {
    this.endpoint = endpoint;
    this.outcome = outcome;
    this.isRepeatable = isRepeatable;
  }

  /** Counts another lost result. */
  lostAgain(): void {
    this.#losses++;
  }

  /** Whether to send the call once more after a result was lost. */
  get canAskAgain(): boolean {
    return !this.isRepeatable || this.#losses <= MAX_RERUNS;
  }

  /** Returns what a later request shows about the call. */
  read(verdict: Verdict): Verdict {
    const { outcome, isAnswer, problem } = verdict;
    // An execution reports the end of the call; a refused request says nothing about an earlier one. A
    // deadline can pass only for a call that the executor knew.
    const isRefused = outcome.status === "refused" || problem === "unknown_call";
    if (isAnswer || !isRefused) return verdict;
    const { retryAfterMs, ...rest } = verdict;
    const isOver = problem === "other_executor" || retryAfterMs === undefined;
    return { ...rest, outcome: this.outcome, ...(!isOver && { retryAfterMs }) };
  }
}
