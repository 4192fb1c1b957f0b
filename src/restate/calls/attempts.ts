import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { CallGates, DurableCall } from "../../sessions/durable-runtime.ts";
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

/** How long a disconnected call is retained until Restate retries it, in ms, and how many are. */
const RETAINED_MS = 600_000;
/**
 * The same for a call that has not begun. It occupies a slot of its session, which other calls need: if another process runs
 * the call, nothing else releases the slot.
 */
const RETAINED_UNBEGUN_MS = 10_000;
const MAX_RETAINED = 10_000;

/** A failed attempt that Restate may retry. */
interface Left extends Pick<Attempt, "call" | "openedAt"> {
  /** As `performance.now` says. */
  readonly leftAt: number;
  isCancelled: boolean;
}

/** Within how many ms Restate retries a call whose attempt has failed, unless another process gets it. */
const RETRIED_WITHIN_MS = 5_000;

/**
 * The calls that this process dispatches, by the ids of their invocations. If the connection to Restate breaks while a tool
 * runs, and Restate retries the call in this process, it continues where it is: its result is not lost.
 */
export class Attempts {
  readonly #attempts = new Map<string, Attempt>();
  readonly #timers = new Map<string, NodeJS.Timeout>();
  /** What was opened last. A node can retry a call before the end of its earlier connection is seen. */
  readonly #last = new Map<string, OpenAttempt>();
  /** In the order in which they left. */
  readonly #left = new Map<string, Left>();

  /** Returns the attempt of an invocation, perhaps one from before the connection broke. */
  open(invocation: string, call: DurableCall, options: GatedDispatchOptions): OpenAttempt {
    clearTimeout(this.#timers.get(invocation));
    this.#timers.delete(invocation);
    const attempt = this.#attempts.get(invocation) ?? this.#begin(invocation, call, options);
    this.#attempts.set(invocation, attempt);
    attempt.dispatch.connect();
    const opened: OpenAttempt = {
      ...attempt,
      leave: () => {
        if (this.#last.get(invocation) === opened) this.#leave(invocation, attempt);
      },
    };
    this.#last.set(invocation, opened);
    return opened;
  }

  #begin(invocation: string, call: DurableCall, options: GatedDispatchOptions): Attempt {
    const before = this.#left.get(invocation);
    this.#left.delete(invocation);
    const dispatch = new GatedDispatch(options);
    if (before?.isCancelled === true) dispatch.cancel();
    return { token: randomUUID(), dispatch, call, openedAt: before?.openedAt ?? performance.now() };
  }

  /** Returns the calls that are dispatched since some time, in ms, also those that Restate will retry. */
  running(sinceMs: number): readonly DurableCall[] {
    this.#forgetLeft();
    const before = performance.now() - sinceMs;
    return [...this.#attempts.values(), ...this.#left.values()]
      .filter(({ openedAt }) => openedAt <= before)
      .map(({ call }) => call);
  }

  /** Cancels the calls of some turns of a session, including those that Restate will retry. */
  cancel(sessionId: string, turnIds: readonly string[]): void {
    const isOf = ({ call }: Pick<Attempt, "call">): boolean =>
      call.sessionId === sessionId && turnIds.includes(call.turnId);
    for (const attempt of this.#attempts.values()) if (isOf(attempt)) attempt.dispatch.cancel();
    for (const left of this.#left.values()) if (isOf(left)) left.isCancelled = true;
  }

  /** Resolves when Restate has the results of all calls that have begun, or after some time, in ms. */
  async drain(maxMs: number): Promise<void> {
    const until = performance.now() + maxMs;
    const isOwed = (): boolean => [...this.#attempts.values()].some(({ dispatch }) => dispatch.hasBegun);
    while (isOwed() && performance.now() < until) await sleep(20);
  }

  /** The invocation has its result. */
  end(invocation: string): void {
    clearTimeout(this.#timers.get(invocation));
    this.#timers.delete(invocation);
    this.#attempts.delete(invocation);
    this.#last.delete(invocation);
  }

  #leave(invocation: string, attempt: Attempt): void {
    if (!attempt.dispatch.canGoOn || this.#timers.size >= MAX_RETAINED) {
      attempt.dispatch.abandon();
      this.end(invocation);
      this.#remember(invocation, attempt);
      return;
    }
    clearTimeout(this.#timers.get(invocation));
    attempt.dispatch.disconnect();
    const forget = (): void => {
      if (attempt.dispatch.hasBegun) attempt.dispatch.giveUp();
      else attempt.dispatch.abandon();
      this.end(invocation);
    };
    const retainedMs = attempt.dispatch.hasBegun ? RETAINED_MS : RETAINED_UNBEGUN_MS;
    this.#timers.set(invocation, setTimeout(forget, retainedMs).unref());
  }

  #remember(invocation: string, { call, openedAt, dispatch }: Attempt): void {
    this.#forgetLeft();
    if (this.#left.size >= MAX_RETAINED) return;
    const leftAt = performance.now();
    this.#left.set(invocation, { call, openedAt, leftAt, isCancelled: dispatch.isCancelled });
  }

  #forgetLeft(): void {
    const before = performance.now() - RETRIED_WITHIN_MS;
    for (const [invocation, { leftAt }] of this.#left) {
      if (leftAt > before) return;
      this.#left.delete(invocation);
    }
  }

  /** Abandons every call that has not begun, and cancels those that have. */
  close(): void {
    for (const [invocation, { dispatch }] of this.#attempts) {
      dispatch.giveUp();
      if (dispatch.hasBegun) dispatch.cancel();
      else dispatch.abandon();
      this.end(invocation);
    }
  }
}

/** How often is asked whether calls that run are cancelled, in ms. */
const ASK_EVERY_MS = 1_000;
/** After how many ms a call that is still not decided on is asked about once more before it begins. */
const SLOW_MS = 250;

/** Returns those of some turns of a session that are cancelled. */
type CancelledTurns = (sessionId: string, turnIds: readonly string[]) => Promise<readonly string[]>;

/** Cancels the calls of this process whose turn was cancelled, by any process, or whose session was closed. */
export class CancelWatch {
  readonly #attempts: Attempts;
  readonly #cancelledTurns: CancelledTurns;
  readonly #asking = new Map<string, Promise<void>>();
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(attempts: Attempts, cancelledTurns: CancelledTurns) {
    this.#attempts = attempts;
    this.#cancelledTurns = cancelledTurns;
  }

  start(): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#ask().finally(() => this.start());
    }, ASK_EVERY_MS).unref();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  /** Returns the gates of a call that is dispatched now. It does not begin if it was cancelled while it was decided on. */
  gates(call: DurableCall, gates: CallGates): CallGates {
    let since = performance.now();
    const { idempotencyKey, confirmations, signal } = gates;
    return {
      idempotencyKey,
      signal,
      confirmations: {
        timeoutMs: confirmations.timeoutMs,
        ask: async (question, options) => {
          const resolution = await confirmations.ask(question, options);
          // A call that is cancelled meanwhile learns so by that.
          since = performance.now();
          return resolution;
        },
        earlier: (asked) => confirmations.earlier(asked),
      },
      get connected() {
        return gates.connected;
      },
      get isAbandoned() {
        return gates.isAbandoned;
      },
      begin: async (beginning) => {
        if (performance.now() - since > SLOW_MS) await this.#askOnce(call);
        await gates.begin(beginning);
      },
    };
  }

  async #ask(): Promise<void> {
    const bySession = new Map<string, Set<string>>();
    for (const { sessionId, turnId } of this.#attempts.running(ASK_EVERY_MS)) {
      const turns = bySession.get(sessionId) ?? new Set();
      bySession.set(sessionId, turns.add(turnId));
    }
    for (const [sessionId, turnIds] of bySession) await this.#askFor(sessionId, [...turnIds]);
  }

  /** Asks for a turn. The calls of a message that begin at once ask together. */
  #askOnce({ sessionId, turnId }: DurableCall): Promise<void> {
    const key = JSON.stringify([sessionId, turnId]);
    let asking = this.#asking.get(key);
    if (asking === undefined) {
      asking = this.#askFor(sessionId, [turnId]).finally(() => this.#asking.delete(key));
      this.#asking.set(key, asking);
    }
    return asking;
  }

  async #askFor(sessionId: string, turnIds: readonly string[]): Promise<void> {
    try {
      const cancelled = await this.#cancelledTurns(sessionId, turnIds);
      if (cancelled.length > 0) this.#attempts.cancel(sessionId, cancelled);
    } catch {
      // Restate cannot be reached. It is asked again.
    }
  }
}
