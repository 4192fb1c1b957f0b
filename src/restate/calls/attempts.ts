import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { DurableCall } from "../../sessions/durable/durable-runtime.ts";
import { GatedDispatch, type GatedDispatchOptions } from "./gated-dispatch.ts";

/** What this process has done of a call. */
export interface Attempt {
  /** Identifies the attempt among those of all processes. */
  readonly token: string;
  readonly dispatch: GatedDispatch;
  readonly call: DurableCall;
  /** When the attempt began, as `performance.now` says. */
  readonly openedAt: number;
}

/** An attempt on one connection of Restate. */
export interface OpenAttempt extends Attempt {
  /** The connection broke, or the invocation waits without this process. */
  leave(): void;
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
  /** What was opened last. A node can come again with a call before the end of its earlier connection is seen. */
  readonly #last = new Map<string, OpenAttempt>();

  /** Returns the attempt of an invocation, perhaps one from before the connection broke. */
  open(invocation: string, call: DurableCall, options: GatedDispatchOptions): OpenAttempt {
    clearTimeout(this.#timers.get(invocation));
    this.#timers.delete(invocation);
    const attempt = this.#attempts.get(invocation) ?? {
      token: randomUUID(),
      dispatch: new GatedDispatch(options),
      call,
      openedAt: performance.now(),
    };
    this.#attempts.set(invocation, attempt);
    const opened: OpenAttempt = {
      ...attempt,
      leave: () => {
        if (this.#last.get(invocation) === opened) this.#leave(invocation, attempt);
      },
    };
    this.#last.set(invocation, opened);
    return opened;
  }

  /** Returns the calls that are dispatched since some time, in ms. */
  running(sinceMs: number): readonly Attempt[] {
    const before = performance.now() - sinceMs;
    return [...this.#attempts.values()].filter(({ openedAt }) => openedAt <= before);
  }

  /** Cancels the calls of some turns of a session. */
  cancel(sessionId: string, turnIds: readonly string[]): void {
    for (const { call, dispatch } of this.#attempts.values()) {
      if (call.sessionId === sessionId && turnIds.includes(call.turnId)) dispatch.cancel();
    }
  }

  /** Resolves when no call that has begun runs, or after some time, in ms. */
  async drain(maxMs: number): Promise<void> {
    const until = performance.now() + maxMs;
    const runs = (): boolean => [...this.#attempts.values()].some(({ dispatch }) => dispatch.isRunning);
    while (runs() && performance.now() < until) await sleep(20);
  }

  /** The invocation has its result. */
  end(invocation: string): void {
    clearTimeout(this.#timers.get(invocation));
    this.#timers.delete(invocation);
    this.#attempts.delete(invocation);
    this.#last.delete(invocation);
  }

  #leave(invocation: string, attempt: Attempt): void {
    if (!attempt.dispatch.canGoOn || this.#timers.size >= MAX_KEPT) {
      attempt.dispatch.abandon();
      this.end(invocation);
      return;
    }
    clearTimeout(this.#timers.get(invocation));
    const forget = (): void => {
      if (!attempt.dispatch.hasBegun) attempt.dispatch.abandon();
      this.end(invocation);
    };
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
