import type { PoolOutcome, PoolTaskOptions } from "./pool-task.ts";
import { STARTED_AT } from "./worker-thread.ts";

/**
 * Watches over one task's time: the wait for a thread, the deadline of the work, cancellation. To the threads'
 * pool it is the signal that aborts the task: an emitter with a single listener, as an `AbortController` for
 * each task would cost more than the rest of the watch.
 */
export class Watch {
  /** Ends the task; set by the pool, which has to see which thread goes. */
  onEnd: (abort: () => void) => void = (abort) => abort();
  #abort: (() => void) | undefined;
  readonly #submittedAt: bigint = process.hrtime.bigint();
  readonly #shared: BigInt64Array;
  readonly #options: PoolTaskOptions;
  readonly #maxWaitMs: number;
  #timer: NodeJS.Timeout | undefined;
  #cause: "timeout" | "cancelled" | "waited" | undefined;

  constructor(shared: BigInt64Array, options: PoolTaskOptions, maxWaitMs: number) {
    this.#shared = shared;
    this.#options = options;
    this.#maxWaitMs = maxWaitMs;
    const { signal } = options;
    signal?.addEventListener("abort", this.cancel);
    if (signal?.aborted) this.cancel();
    else this.#check();
  }

  /** Whether the task was aborted before it was handed to the pool. */
  get aborted(): boolean {
    return this.#cause !== undefined;
  }

  once(_event: string, listener: () => void): void {
    this.#abort = listener;
  }

  off(): void {
    this.#abort = undefined;
  }

  removeListener(): void {
    this.#abort = undefined;
  }

  /** Milliseconds since the work began; 0 before. */
  get elapsedMs(): number {
    const startedAt = Atomics.load(this.#shared, STARTED_AT);
    return startedAt === 0n ? 0 : sinceMs(startedAt);
  }

  /** Whether the time is up; otherwise looks again when it may be. */
  readonly #check = (): void => {
    const { wallTimeMs = Number.POSITIVE_INFINITY, graceMs = 0 } = this.#options;
    const allowedMs = wallTimeMs + graceMs;
    const started = Atomics.load(this.#shared, STARTED_AT) !== 0n;
    const leftMs = started ? allowedMs - this.elapsedMs : this.#maxWaitMs - sinceMs(this.#submittedAt);
    if (leftMs <= 0) {
      this.#end(started ? "timeout" : "waited");
      return;
    }
    // Until the start is known, a look each `allowedMs` cannot miss the deadline that it sets.
    const delayMs = started ? leftMs : Math.min(leftMs, allowedMs);
    if (Number.isFinite(delayMs)) this.#timer = setTimeout(this.#check, Math.ceil(delayMs));
  };

  /** Ends the task because nobody wants it any more. */
  readonly cancel = (): void => this.#end("cancelled");

  #end(cause: "timeout" | "cancelled" | "waited"): void {
    if (this.#cause !== undefined) return;
    this.#cause = cause;
    this.stop();
    this.onEnd(() => this.#abort?.());
  }

  /** Tells why the pool gave the task up. */
  explain(error: Error): Exclude<PoolOutcome<never>, { status: "returned" }> {
    const wallTimeMs = this.elapsedMs;
    const started = wallTimeMs > 0;
    switch (this.#cause) {
      case "waited":
        return { status: "unavailable", reason: `no free thread within ${this.#maxWaitMs} ms`, wallTimeMs };
      case undefined:
        return { status: "crashed", started, error, wallTimeMs };
      default:
        return { status: this.#cause, started, wallTimeMs };
    }
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#options.signal?.removeEventListener("abort", this.cancel);
  }
}

function sinceMs(instant: bigint): number {
  return Number(process.hrtime.bigint() - instant) / 1e6;
}
