import type { LogLevel } from "./log-level.ts";
import { type ThreadTask, tell } from "./worker-thread.ts";

/** Bytes of log text that one call may write; what comes after is left out. */
const MAX_LOG_BYTES = 65_536;

/** Carries an untrusted tool's log lines out of its thread, within a budget. */
export class ThreadLog {
  readonly #task: ThreadTask;
  #leftBytes = MAX_LOG_BYTES;

  constructor(task: ThreadTask) {
    this.#task = task;
  }

  write(level: LogLevel, message: string): void {
    if (this.#leftBytes <= 0) return;
    this.#leftBytes -= Buffer.byteLength(message) + 1;
    const line = this.#leftBytes > 0 ? message : "(the log ends here: the call wrote too much)";
    tell(this.#task, { type: "log", level, message: line });
  }
}
