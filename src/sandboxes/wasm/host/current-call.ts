import type { ServiceReply, ServiceRequest, TimedRequest } from "../../guest-services/service-request.ts";
import { DEFAULT_LOG_BUDGET, type TaskThread, ThreadLog } from "../../threads/thread-message.ts";

/** The limits of a call that its thread enforces. */
export interface CallLimits {
  readonly wallTimeMs: number | undefined;
  readonly logLines: number;
}

/** The call that an instance currently runs, as seen by its thread. */
export class CurrentCall {
  readonly log: ThreadLog;
  readonly #thread: TaskThread;
  /** On the thread's `performance.now()` clock, in milliseconds. `Infinity` if there is no limit. */
  readonly #deadline: number;

  constructor({ wallTimeMs, logLines }: CallLimits, thread: TaskThread) {
    this.#thread = thread;
    this.#deadline = performance.now() + (wallTimeMs ?? Number.POSITIVE_INFINITY);
    this.log = new ThreadLog(thread, { lines: logLines, bytes: DEFAULT_LOG_BUDGET.bytes });
  }

  get isOver(): boolean {
    return performance.now() > this.#deadline;
  }

  get #leftMs(): number | undefined {
    const left = this.#deadline - performance.now();
    return Number.isFinite(left) ? Math.max(left, 1) : undefined;
  }

  /** Sends a request to the process, and blocks the thread until the reply arrives. */
  ask<Value, Failure>(request: ServiceRequest): ServiceReply<Value, Failure> {
    const message: TimedRequest = { request, leftMs: this.#leftMs };
    const reply = this.#thread.request(message);
    return (typeof reply === "string" ? JSON.parse(reply) : reply) as ServiceReply<Value, Failure>;
  }
}
