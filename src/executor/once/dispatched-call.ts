import type { DispatchEventBody } from "../../engine/call/events.ts";
import type { DispatchRequest } from "../../remote-protocol/messages.ts";
import type { RemoteProblem } from "../../remote-protocol/problems.ts";

/** What a call tells while it runs. */
export type CallEvent = Extract<DispatchEventBody, { readonly type: "tool.output" | "tool.log" }>;

/** Somebody who waits for what becomes of a call. None of it throws. */
export interface CallWaiter {
  /** The call is known already, and what comes is the answer of all who wait for it. Comes first. */
  replayed(): void;
  /** @param execution JSON text. */
  answered(execution: string): void;
  /** The call never ran, or nobody knows what became of it. */
  refused(problem: RemoteProblem): void;
  /** Gets the chunks and log lines. Absent: nobody wants them. */
  readonly told?: ((event: CallEvent) => void) | undefined;
}

/** One call from its arrival to its answer, and those who wait for that. */
export class DispatchedCall {
  readonly request: DispatchRequest;
  /** As `performance.now()`. */
  readonly arrivedAt: number;
  /** Whether it tells what happens while it runs. */
  readonly isStreamed: boolean;
  readonly #abort = new AbortController();
  #waiters: CallWaiter[] = [];
  /** Takes the call out of the queue, and tells whether it was there. */
  #leaveQueue: (() => boolean) | undefined;
  #isAbandoned = false;
  /** Those who came when it was abandoned. */
  #followers: Set<() => void> | undefined;

  constructor(request: DispatchRequest, isStreamed: boolean, arrivedAt: number) {
    this.request = request;
    this.isStreamed = isStreamed;
    this.arrivedAt = arrivedAt;
  }

  /** Aborted when nobody waits any more, or the executor ends. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Whether it is being cancelled because the last of those who waited left: nobody can join it any more. */
  get isAbandoned(): boolean {
    return this.#isAbandoned;
  }

  set leaveQueue(leave: () => boolean) {
    this.#leaveQueue = leave;
  }

  /** Adds somebody who waits. */
  join(waiter: CallWaiter): void {
    this.#waiters.push(waiter);
  }

  /**
   * Takes out somebody who no longer waits; the last one's leaving cancels the call.
   *
   * @returns `unstarted` when it was the last one's, and the call had not had its turn.
   */
  leave(waiter: CallWaiter): "unstarted" | undefined {
    const index = this.#waiters.indexOf(waiter);
    if (index < 0) return undefined;
    this.#waiters.splice(index, 1);
    if (this.#waiters.length > 0) return undefined;
    if (this.#leaveQueue?.()) return "unstarted";
    this.#isAbandoned = true;
    this.cancel();
    return undefined;
  }

  cancel(): void {
    this.#abort.abort();
  }

  /**
   * Lets somebody follow an abandoned call.
   *
   * @param follow Called when it has ended.
   * @returns a function that takes it back.
   */
  follow(follow: () => void): () => void {
    this.#followers ??= new Set();
    this.#followers.add(follow);
    return () => void this.#followers?.delete(follow);
  }

  /** It has ended, and whoever came since it was abandoned has a turn. */
  letFollow(): void {
    for (const follow of this.#followers ?? []) follow();
  }

  tell(event: CallEvent): void {
    for (const waiter of this.#waiters) waiter.told?.(event);
  }

  complete(execution: string): void {
    for (const waiter of this.#takeWaiters()) waiter.answered(execution);
  }

  refuse(problem: RemoteProblem): void {
    for (const waiter of this.#takeWaiters()) waiter.refused(problem);
  }

  /** Nobody waits any longer. */
  #takeWaiters(): readonly CallWaiter[] {
    const waiters = this.#waiters;
    this.#waiters = [];
    return waiters;
  }
}
