import type { TraceHeaders } from "../../base/trace-headers.ts";
import type { DispatchEventBody } from "../../engine/call/events.ts";
import type { Principal } from "../../policy/principal.ts";
import type { RequestRefusal } from "../../remote-protocol/problems.ts";
import type { DispatchRequest } from "../../remote-protocol/shapes.ts";

/** The events that a call sends to its waiters while it runs. */
export type CallEvent = Extract<DispatchEventBody, { readonly type: "tool.output" | "tool.log" }>;

/** A request that waits for the result of a call. No method throws. */
export interface CallWaiter {
  /** Called first if the call has been started by an earlier request. */
  replayed(): void;
  /** @param execution The execution as JSON text. */
  answered(execution: string): void;
  /** The call did not run, or its result is unknown. */
  refused(problem: RequestRefusal): void;
  /** The call waits, or has waited, for its turn: its answer may come that much later. Called once at most. */
  waits(): void;
  /** Receives chunks and log lines. Absent if they are not needed. */
  readonly onEvent?: ((event: CallEvent) => void) | undefined;
}

/** Where a call comes from. */
export interface CallOrigin {
  /** The name of the caller. Different callers can use the same ids for different calls. */
  readonly caller: string;
  /** Who calls, as it was authenticated; `undefined` if it is not known. */
  readonly principal: Principal | undefined;
  /** The trace that the request continues, as it claims. */
  readonly trace?: TraceHeaders | undefined;
}

/** Milliseconds that a call may wait without its waiters knowing: clients wait a little longer than a wall time. */
const MIN_WAIT_MS = 20;

/** A call from its arrival to its answer, with its waiters. */
export class DispatchedCall {
  readonly request: DispatchRequest;
  /** The name of the caller: see `Sender.caller`. */
  readonly caller: string;
  /** Who calls, as it was authenticated; `undefined` if it is not known. */
  readonly principal: Principal | undefined;
  /** Time of arrival, from `performance.now()`. */
  readonly arrivedAt: number;
  /** Whether it sends events while it runs. */
  readonly isStreamed: boolean;
  /** The trace of its first request; `undefined` if that has none. */
  readonly trace: TraceHeaders | undefined;
  readonly #abort = new AbortController();
  #waiters: CallWaiter[] = [];
  /** Removes the call from the queue, and returns whether it was queued. */
  leaveQueue: (() => boolean) | undefined;
  /** Called when the call begins to wait for its turn. */
  onWait: (() => void) | undefined;
  /** Since when it waits for its turn; `undefined` if it does not. */
  #waitsSince: number | undefined;
  #waitedMs = 0;
  #hasReportedWait = false;
  #isAbandoned = false;
  /** Requests that arrived after the call was abandoned. */
  #followers: Set<() => void> | undefined;

  constructor(
    request: DispatchRequest,
    { caller, principal, trace }: CallOrigin,
    isStreamed: boolean,
    arrivedAt: number,
  ) {
    this.caller = caller;
    this.principal = principal;
    this.trace = trace;
    this.request = request;
    this.isStreamed = isStreamed;
    this.arrivedAt = arrivedAt;
  }

  /** Aborted when the last waiter leaves, or the executor shuts down. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Whether the call is being cancelled because its last waiter left. It cannot be joined any more. */
  get isAbandoned(): boolean {
    return this.#isAbandoned;
  }

  /** Adds a waiter. */
  join(waiter: CallWaiter): void {
    this.#waiters.push(waiter);
    if (this.#hasReportedWait) waiter.waits();
  }

  /**
   * Removes a waiter. The call is cancelled when the last one leaves.
   *
   * @returns `unstarted` if it was the last waiter and the call had not started.
   */
  leave(waiter: CallWaiter): "unstarted" | undefined {
    const index = this.#waiters.indexOf(waiter);
    if (index < 0) return undefined;
    this.#waiters.splice(index, 1);
    if (this.#waiters.length > 0) return undefined;
    if (this.leaveQueue?.()) return "unstarted";
    this.#isAbandoned = true;
    this.cancel();
    return undefined;
  }

  /** The call waits for its turn: its wall time is stopped. */
  waits(): void {
    if (this.#hasReportedWait || this.#waitsSince !== undefined) return;
    this.#waitsSince = performance.now();
    this.onWait?.();
  }

  /** The call begins, or continues. */
  begins(): void {
    if (this.#waitsSince === undefined) return;
    this.#waitedMs += performance.now() - this.#waitsSince;
    this.#waitsSince = undefined;
  }

  /** Notifies the waiters, once, if the call waits or has waited. */
  reportWait(): void {
    if (this.#hasReportedWait || (this.#waitsSince === undefined && this.#waitedMs < MIN_WAIT_MS)) return;
    this.#hasReportedWait = true;
    for (const waiter of this.#waiters) waiter.waits();
  }

  cancel(): void {
    this.#abort.abort();
  }

  /**
   * Adds a follower to an abandoned call.
   *
   * @param follow Called when the call has ended.
   * @returns a function that removes the follower.
   */
  follow(follow: () => void): () => void {
    this.#followers ??= new Set();
    this.#followers.add(follow);
    return () => void this.#followers?.delete(follow);
  }

  /** Calls the followers after the call has ended. */
  notifyFollowers(): void {
    for (const follow of this.#followers ?? []) follow();
  }

  sendEvent(event: CallEvent): void {
    for (const waiter of this.#waiters) waiter.onEvent?.(event);
  }

  complete(execution: string): void {
    for (const waiter of this.#takeWaiters()) waiter.answered(execution);
  }

  refuse(problem: RequestRefusal): void {
    for (const waiter of this.#takeWaiters()) waiter.refused(problem);
  }

  /** Removes and returns all waiters. */
  #takeWaiters(): readonly CallWaiter[] {
    const waiters = this.#waiters;
    this.#waiters = [];
    return waiters;
  }
}
