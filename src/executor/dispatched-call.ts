import type { EventBody } from "../engine/events.ts";
import type { DispatchRequest } from "../remote-protocol/messages.ts";
import type { RemoteProblem } from "../remote-protocol/problems.ts";

/** Gets what a call tells while it runs. */
export type CallListener = (event: Extract<EventBody, { readonly type: "tool.output" | "tool.log" }>) => void;

/** One call from its arrival to its answer, and those who wait for that. */
export class DispatchedCall {
  readonly request: DispatchRequest;
  /** As `performance.now()`. */
  readonly arrivedAt: number = performance.now();
  /** Whether it tells what happens while it runs. */
  readonly isStreamed: boolean;
  /** The execution as JSON text. Rejects with a {@link RemoteProblem} when it never ran. */
  readonly answer: Promise<string>;
  readonly #abort = new AbortController();
  readonly #listeners = new Set<CallListener>();
  #waiters = 0;
  #resolve: (answer: string) => void = () => {};
  #reject: (problem: RemoteProblem) => void = () => {};
  /** Takes the call out of the queue, and tells whether it was there. */
  #leaveQueue: () => boolean = () => false;

  constructor(request: DispatchRequest, isStreamed: boolean) {
    this.request = request;
    this.isStreamed = isStreamed;
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // Those who wait hear of it; there may be none left.
    this.answer.catch(() => {});
  }

  /** Aborted when nobody waits any more, or the executor ends. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  set leaveQueue(leave: () => boolean) {
    this.#leaveQueue = leave;
  }

  /** Waits for the answer until it is there or `leave` is called; the last who leaves cancels the call. */
  join(listener: CallListener | undefined, onUnstarted: () => void): () => void {
    this.#waiters++;
    if (listener !== undefined) this.#listeners.add(listener);
    let hasLeft = false;
    return () => {
      if (hasLeft) return;
      hasLeft = true;
      if (listener !== undefined) this.#listeners.delete(listener);
      if (--this.#waiters > 0) return;
      if (this.#leaveQueue()) onUnstarted();
      else this.cancel();
    };
  }

  cancel(): void {
    this.#abort.abort();
  }

  tell(event: Parameters<CallListener>[0]): void {
    for (const listener of this.#listeners) listener(event);
  }

  complete(answer: string): void {
    this.#resolve(answer);
  }

  refuse(problem: RemoteProblem): void {
    this.#reject(problem);
  }
}
