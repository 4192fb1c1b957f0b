import type { CallTool, Effect, NestedResult } from "../sandbox.ts";
import type { GuestRequest } from "./thread-task.ts";

/** What a guest is told of a nested call. */
export type NestedReply = { readonly id: number } & NestedResult;

/** Why a wait for replies ended without one. */
export type WaitEnd = "timeout" | "cancelled";

/** The calls that one guest makes to other tools. While it waits for them it is a snapshot, in no thread. */
export class NestedCalls {
  readonly #callTool: CallTool | undefined;
  /** Made when there is something to cancel. */
  #cancel: AbortController | undefined;
  readonly #running = new Map<number, Promise<void>>();
  #replies: NestedReply[] = [];
  #onReply: (() => void) | undefined;
  #effect: Effect = "none";
  #count = 0;

  constructor(callTool: CallTool | undefined) {
    this.#callTool = callTool;
  }

  /** How many were made. */
  get count(): number {
    return this.#count;
  }

  /** How many have no reply yet, or one that the guest was not told of: it may come while another is taken. */
  get outstanding(): number {
    return this.#running.size + this.#replies.length;
  }

  /** What they may have left behind: a call that succeeded may have changed anything. */
  get effect(): Effect {
    return this.#running.size > 0 ? "unknown" : this.#effect;
  }

  /** Makes the calls that the guest asks for, all at once. */
  start(requests: readonly GuestRequest[], wallTimeMs: number): void {
    if (requests.length === 0) return;
    this.#cancel ??= new AbortController();
    const { signal } = this.#cancel;
    for (const { id, name, input } of requests) {
      this.#count++;
      const calling = this.#callTool?.({ name, input }, { signal, wallTimeMs });
      if (calling !== undefined)
        this.#running.set(
          id,
          calling.then((result) => this.#settle(id, result)),
        );
    }
  }

  #settle(id: number, result: NestedResult): void {
    this.#running.delete(id);
    if (!("error" in result) || result.error.effect !== "none") this.#effect = "unknown";
    this.#replies.push({ id, ...result });
    this.#onReply?.();
  }

  /** Waits for the next replies: all that are there when the first one is. */
  async next(
    wallTimeMs: number,
    signals: readonly (AbortSignal | undefined)[],
  ): Promise<readonly NestedReply[] | WaitEnd> {
    const { promise, resolve } = Promise.withResolvers<WaitEnd | undefined>();
    const onAbort = (): void => resolve("cancelled");
    this.#onReply = () => resolve(undefined);
    const timer = setTimeout(() => resolve("timeout"), Math.max(wallTimeMs, 0));
    for (const signal of signals) {
      signal?.addEventListener("abort", onAbort, { once: true });
      if (signal?.aborted) onAbort();
    }
    if (this.#replies.length > 0) resolve(undefined);
    const end = await promise;
    clearTimeout(timer);
    for (const signal of signals) signal?.removeEventListener("abort", onAbort);
    if (end !== undefined) return end;
    const replies = this.#replies;
    this.#replies = [];
    return replies;
  }

  /** Cancels what still runs, and waits for its end: nobody is left to hear of it. */
  async end(): Promise<void> {
    if (this.#running.size === 0) return;
    this.#cancel?.abort();
    await Promise.all(this.#running.values());
  }
}
