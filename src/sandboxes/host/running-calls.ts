import { MAX_DELAY_MS } from "../../base/timers.ts";

/** A call that waits for its tool. */
export interface RunningCall {
  /** Its index in {@link RunningCalls}; -1 if it has not been added. */
  place: number;
  /** When the wall time ends, on the clock of `performance.now`; `undefined` if it is unlimited, or stands still. */
  readonly deadline: number | undefined;
  /** Cancels the call. */
  readonly signal: AbortSignal | undefined;
  stop(cause: "timeout" | "cancelled"): void;
}

/**
 * The calls that wait for their tools, and are stopped at their deadlines or by their signals. They are in an array,
 * since adding to and deleting from a set makes garbage.
 */
export class RunningCalls<Call extends RunningCall> {
  readonly #calls: Call[] = [];
  /**
   * One timer for all calls: one per call would cost more than everything else in the sandbox. It is not
   * reset when a call ends, so it may fire when nothing is due; then it checks each call. A `DeadlineTimer`
   * has a set of its own, which would make a dispatch 5 % slower.
   */
  #timer: NodeJS.Timeout | undefined;
  /** When the timer fires; infinity if it is not set. */
  #nextLook = Number.POSITIVE_INFINITY;
  /** How many calls have a deadline. The timer keeps the process alive for them. */
  #timed = 0;
  readonly #onAbort = stopAborted(this.#calls);
  /** The signals that have the listener, and the last one of them. */
  readonly #listened = new WeakSet<AbortSignal>();
  #lastFollowed: AbortSignal | undefined;

  get all(): readonly Call[] {
    return [...this.#calls];
  }

  add(call: Call): void {
    call.place = this.#calls.push(call) - 1;
    const { deadline, signal } = call;
    if (deadline !== undefined) this.#time(deadline);
    if (signal !== undefined && signal !== this.#lastFollowed) this.#listen(signal);
  }

  /** Must be called before the deadline of a call becomes `undefined`. */
  beforePause(call: Call): void {
    if (this.#calls[call.place] === call && call.deadline !== undefined) this.#untime();
  }

  /** Must be called after a call has a deadline again. */
  afterPause(call: Call): void {
    const { deadline } = call;
    if (this.#calls[call.place] === call && deadline !== undefined) this.#time(deadline);
  }

  #time(deadline: number): void {
    if (deadline < this.#nextLook) this.#lookAt(deadline);
    if (this.#timed++ === 0) this.#timer?.ref();
  }

  #untime(): void {
    if (--this.#timed === 0) this.#timer?.unref();
  }

  #lookAt(time: number): void {
    clearTimeout(this.#timer);
    const now = performance.now();
    const delay = Math.min(Math.max(Math.ceil(time - now), 1), MAX_DELAY_MS);
    this.#nextLook = now + delay;
    this.#timer = setTimeout(() => this.#look(), delay);
  }

  #look(): void {
    this.#nextLook = Number.POSITIVE_INFINITY;
    const now = performance.now();
    let next = Number.POSITIVE_INFINITY;
    // Stopping a call may end other calls.
    for (const call of this.all) {
      const { deadline = Number.POSITIVE_INFINITY } = call;
      if (deadline <= now) call.stop("timeout");
      else next = Math.min(next, deadline);
    }
    if (next < this.#nextLook) this.#lookAt(next);
  }

  /**
   * Adds one listener to a signal, and never removes it: adding and removing one per call would take a third
   * of the time of a dispatch, with garbage collection.
   */
  #listen(signal: AbortSignal): void {
    this.#lastFollowed = signal;
    if (this.#listened.has(signal)) return;
    this.#listened.add(signal);
    signal.addEventListener("abort", this.#onAbort);
  }

  /** Removes a call, and moves the last one to its place. */
  remove(call: Call): void {
    if (this.#calls[call.place] !== call) return;
    if (call.deadline !== undefined) this.#untime();
    const last = this.#calls.pop();
    if (last === undefined || last === call) return;
    this.#calls[call.place] = last;
    last.place = call.place;
  }
}

/** Returns a listener that refers only to the calls, since a signal may outlive the sandbox. */
function stopAborted(calls: readonly RunningCall[]): (event: Event) => void {
  return ({ target }) => {
    for (const call of calls.filter(({ signal }) => signal === target)) call.stop("cancelled");
  };
}

/** Milliseconds after which a function that was asked to stop, and still runs, is abandoned. */
const ABANDONED_AFTER_MS = 30_000;

/**
 * The functions that still run long after their calls ended. Nothing can end a function in this process: the operator is
 * warned once for each, with the code `SANDGATE_FUNCTION_ABANDONED`.
 */
export class AbandonedFunctions {
  #count = 0;

  /** The number of functions that are abandoned and still run. */
  get count(): number {
    return this.#count;
  }

  /**
   * Watches a function whose call ended without it.
   *
   * @param result Settles when the function ends.
   */
  watch(toolName: string, result: Promise<unknown>): void {
    let isAbandoned = false;
    const timer = setTimeout(() => {
      isAbandoned = true;
      this.#count++;
      process.emitWarning(
        `The host function of tool '${toolName}' still runs ${ABANDONED_AFTER_MS / 1_000} s after its call ended: it should heed its signal`,
        { code: "SANDGATE_FUNCTION_ABANDONED" },
      );
    }, ABANDONED_AFTER_MS);
    timer.unref();
    const end = (): void => {
      clearTimeout(timer);
      if (isAbandoned) this.#count--;
    };
    result.then(end, end);
  }
}
