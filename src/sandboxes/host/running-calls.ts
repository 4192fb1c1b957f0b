import { DeadlineTimer } from "../../base/timers/deadline-timer.ts";

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
  /** One timer for all calls: one for each would cost more than the rest of the sandbox. */
  readonly #deadlines = new DeadlineTimer<Call>({
    deadlineOf: ({ deadline = Number.POSITIVE_INFINITY }) => deadline,
    expire: (call) => {
      this.#deadlines.delete(call);
      call.stop("timeout");
    },
    keepsAlive: true,
  });
  readonly #onAbort = stopAborted(this.#calls);
  /** The signals that have the listener, and the last one of them. */
  readonly #heard = new WeakSet<AbortSignal>();
  #lastHeard: AbortSignal | undefined;

  get all(): readonly Call[] {
    return [...this.#calls];
  }

  add(call: Call): void {
    call.place = this.#calls.push(call) - 1;
    if (call.deadline !== undefined) this.#deadlines.add(call);
    if (call.signal !== undefined && call.signal !== this.#lastHeard) this.#hear(call.signal);
  }

  /** Must be called before the deadline of a call becomes `undefined`. */
  beforePause(call: Call): void {
    if (call.place >= 0) this.#deadlines.delete(call);
  }

  /** Must be called after a call has a deadline again. */
  afterPause(call: Call): void {
    if (this.#calls[call.place] === call && call.deadline !== undefined) this.#deadlines.add(call);
  }

  /**
   * Listens to a signal once, and keeps the listener: adding a listener for each call and removing it again would take as long as a
   * third of a dispatch, with what the garbage collector has to do for it.
   */
  #hear(signal: AbortSignal): void {
    this.#lastHeard = signal;
    if (this.#heard.has(signal)) return;
    this.#heard.add(signal);
    signal.addEventListener("abort", this.#onAbort);
  }

  /** Removes a call, and moves the last one to its place. */
  remove(call: Call): void {
    if (this.#calls[call.place] !== call) return;
    if (call.deadline !== undefined) this.#deadlines.delete(call);
    const last = this.#calls.pop();
    if (last === undefined || last === call) return;
    this.#calls[call.place] = last;
    last.place = call.place;
  }
}

/** Returns a listener that keeps nothing but the calls: a signal may be there long after the sandbox. */
function stopAborted(calls: readonly RunningCall[]): (event: Event) => void {
  return ({ target }) => {
    for (const call of calls.filter(({ signal }) => signal === target)) call.stop("cancelled");
  };
}
