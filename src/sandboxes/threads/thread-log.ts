import type { LogLevel } from "../../tool/log-level.ts";
import type { TaskThread } from "./thread-message.ts";

/** What one call may log. Further lines are dropped. */
export interface LogBudget {
  readonly lines: number;
  /** Bytes of text. */
  readonly bytes: number;
}

/** The budget of a call whose grant does not limit log lines. */
export const DEFAULT_LOG_BUDGET: LogBudget = Object.freeze({
  lines: Number.POSITIVE_INFINITY,
  bytes: 65_536,
});

/** Sends an untrusted tool's log lines to the pool, within a budget. */
export class ThreadLog {
  readonly #thread: TaskThread;
  #leftLines: number;
  #leftBytes: number;

  constructor(thread: TaskThread, budget: LogBudget = DEFAULT_LOG_BUDGET) {
    this.#thread = thread;
    this.#leftLines = budget.lines;
    this.#leftBytes = budget.bytes;
  }

  /** The rest of the budget; zero after a line was dropped. */
  get left(): LogBudget {
    return { lines: Math.max(this.#leftLines, 0), bytes: Math.max(this.#leftBytes, 0) };
  }

  write(level: LogLevel, message: string): void {
    if (this.#leftBytes <= 0 || this.#leftLines < 0) return;
    this.#leftLines--;
    this.#leftBytes -= Buffer.byteLength(message) + 1;
    const isWithin = this.#leftLines >= 0 && this.#leftBytes > 0;
    const line = isWithin ? message : "(log truncated: the call wrote too much)";
    this.#thread.tell({ type: "log", level, message: line });
  }
}
