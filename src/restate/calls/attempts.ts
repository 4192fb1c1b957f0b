import { randomUUID } from "node:crypto";
import { GatedDispatch, type GatedDispatchOptions } from "./gated-dispatch.ts";

/** What this process has done of a call. */
export interface Attempt {
  /** Identifies the attempt among those of all processes. */
  readonly token: string;
  readonly dispatch: GatedDispatch;
}

/** How long a call is kept for Restate to come back to it, in ms, and how many. */
const KEPT_MS = 600_000;
const MAX_KEPT = 10_000;

/**
 * The calls that this process dispatches, by the ids of their invocations. If the connection to Restate breaks while a tool
 * runs, and Restate comes back to this process, the call goes on where it is: its result is not lost.
 */
export class Attempts {
  readonly #attempts = new Map<string, Attempt>();
  readonly #timers = new Map<string, NodeJS.Timeout>();

  /** Returns the attempt of an invocation, perhaps one from before the connection broke. */
  open(invocation: string, options: GatedDispatchOptions): Attempt {
    clearTimeout(this.#timers.get(invocation));
    this.#timers.delete(invocation);
    const known = this.#attempts.get(invocation);
    if (known !== undefined) return known;
    const attempt = { token: randomUUID(), dispatch: new GatedDispatch(options) };
    this.#attempts.set(invocation, attempt);
    return attempt;
  }

  /** The invocation has its result. */
  end(invocation: string): void {
    clearTimeout(this.#timers.get(invocation));
    this.#timers.delete(invocation);
    this.#attempts.delete(invocation);
  }

  /** The connection broke, or the invocation waits without this process. */
  leave(invocation: string): void {
    const attempt = this.#attempts.get(invocation);
    if (attempt === undefined) return;
    if (!attempt.dispatch.canGoOn || this.#timers.size >= MAX_KEPT) {
      attempt.dispatch.abandon();
      this.#attempts.delete(invocation);
      return;
    }
    clearTimeout(this.#timers.get(invocation));
    const forget = (): void => this.end(invocation);
    this.#timers.set(invocation, setTimeout(forget, KEPT_MS).unref());
  }

  /** Gives up every call that has not begun, and cancels the others. */
  close(): void {
    for (const [invocation, { dispatch }] of this.#attempts) {
      if (dispatch.hasBegun) dispatch.cancel();
      else dispatch.abandon();
      this.end(invocation);
    }
  }
}
