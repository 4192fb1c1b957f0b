import type { Egress } from "../../egress/egress.ts";
import type { CallEffect, ResourceUse, SandboxTask } from "../contract/sandbox.ts";
import { FetchRequests } from "./fetch-requests.ts";
import type { GuestReply, GuestRequest, GuestResult } from "./guest-request.ts";
import { NestedCalls } from "./nested-calls.ts";
import type { FetchAllowance } from "./thread/external-access.ts";

/** Why a wait for replies ended without one. */
export type WaitEnd = "timeout" | "cancelled";

/** The requests of one guest, and the replies that it has not received yet. A guest that waits is suspended. */
export class PendingRequests {
  readonly #tools: NestedCalls;
  /** Absent where the grant gives no network. */
  readonly #fetches: FetchRequests | undefined;
  /** Made when there is something to cancel. */
  #cancel: AbortController | undefined;
  readonly #running = new Set<Promise<void>>();
  #replies: GuestReply[] = [];
  #onReply: (() => void) | undefined;

  /** @param openEgress Called when a request is sent. */
  constructor(
    { callTool, capabilities: { net = [] } }: SandboxTask,
    netBytes: number,
    openEgress: () => Egress,
  ) {
    this.#tools = new NestedCalls(callTool);
    if (net.length > 0) this.#fetches = new FetchRequests(openEgress, net, netBytes);
  }

  /** How many calls of other tools were made. */
  get nestedCalls(): number {
    return this.#tools.count;
  }

  /** What may yet be sent; `undefined` where the grant gives no network. */
  get fetchAllowance(): FetchAllowance | undefined {
    return this.#fetches?.allowance;
  }

  /** How many requests have no reply yet, or one that the guest has not received. */
  get outstanding(): number {
    return this.#running.size + this.#replies.length;
  }

  /** What they may have left behind. */
  get effect(): CallEffect {
    return this.#tools.effect === "none" && (this.#fetches?.effect ?? "none") === "none" ? "none" : "unknown";
  }

  /** What was used for them. */
  get used(): Omit<ResourceUse, "wallTimeMs"> {
    return { nestedCalls: this.#tools.count, ...this.#fetches?.traffic };
  }

  /**
   * Starts to answer the requests of one step, all at once.
   *
   * @param leftMs What is left of the call's wall time.
   */
  start(requests: readonly GuestRequest[], wallTimeMs: number): void {
    if (requests.length === 0) return;
    this.#cancel ??= new AbortController();
    const { signal } = this.#cancel;
    for (const request of requests) {
      if (request.kind === "call") {
        this.#await(request.id, this.#tools.call(request, wallTimeMs, signal));
      } else if (this.#fetches !== undefined) {
        this.#await(request.id, this.#fetches.add(request, wallTimeMs, signal));
      }
    }
    this.#fetches?.launch();
  }

  #await(id: number, result: Promise<GuestResult>): void {
    const running = result.then((settled) => {
      this.#running.delete(running);
      this.#replies.push({ id, ...settled });
      this.#onReply?.();
    });
    this.#running.add(running);
  }

  /** Waits for the next reply, and returns all replies that are available then. */
  async next(
    wallTimeMs: number,
    signals: readonly (AbortSignal | undefined)[],
  ): Promise<readonly GuestReply[] | WaitEnd> {
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
    await Promise.all(this.#running);
  }
}
