import {
  type CircuitBreakerPolicy,
  CircuitState,
  ConsecutiveBreaker,
  circuitBreaker,
  ExponentialBackoff,
  handleWhenResult,
  isBrokenCircuitError,
} from "cockatiel";
import { FairQueue, type QueueOwner } from "../../../base/fair-queue.ts";
import type { McpCallEnd, McpServerState } from "../../../tool/implementations/remote-implementation.ts";
import type { PauseWallTime } from "../../../tool/wall-time.ts";
import type { Notify } from "./notice.ts";

/** How much a server gets to do at once, and when it gets nothing for a while. */
export interface McpLoadOptions {
  /** How many calls it runs at once. Those that wait for a person do not count. Default: 64. */
  readonly maxConcurrent?: number;
  /** How many more wait for their turn; others fail at once. Default: 256. */
  readonly maxWaiting?: number;
  /** How long a call waits for its turn at most, in ms. Default: 30,000. */
  readonly maxWaitMs?: number;
  /**
   * After how many calls in a row that it did not answer, or for which it could not be reached, it gets no calls for a
   * while: one second, and up to 30 if the call that then tries it fails, too. Default: 5.
   */
  readonly maxFaults?: number;
}

/** The defaults of {@link McpLoadOptions}. */
export const MCP_LOAD_DEFAULTS: Required<McpLoadOptions> = Object.freeze({
  maxConcurrent: 64,
  maxWaiting: 256,
  maxWaitMs: 30_000,
  maxFaults: 5,
});

const PAUSE_MS = { initialDelay: 1_000, maxDelay: 30_000 };

/** What a request shows about the server: that it works or not, or nothing. */
export type LoadVerdict = "works" | "fails" | "unknown";

/** Work for the server, and what it shows, which may be known later. */
interface Judged<T> {
  readonly value: T;
  readonly verdict: LoadVerdict | Promise<LoadVerdict>;
}

/** A request for work. */
interface LoadRequest {
  readonly owner: QueueOwner;
  /** Takes the request out of the queue. */
  readonly signal: AbortSignal;
  /** Stops its wall time while it waits. Default: it continues. */
  readonly pause?: PauseWallTime | undefined;
}

/** A request was not sent. */
export type LoadRefusal = Extract<McpCallEnd, { readonly status: "refused" | "cancelled" }>;

/** A request in the queue. */
interface QueuedRequest {
  readonly owner: QueueOwner;
  readonly settle: (end: "begin" | LoadRefusal) => void;
}

const CANCELLED: LoadRefusal = Object.freeze({ status: "cancelled", sent: false });

/**
 * What one server has to do: a bulkhead and a circuit breaker. A server that is slow, full or down uses up only its own places,
 * and its calls fail at once instead of holding up whoever makes them.
 */
export class ServerLoad {
  readonly #options: Required<McpLoadOptions>;
  readonly #notify: Notify;
  readonly #breaker: CircuitBreakerPolicy;
  readonly #queue = new FairQueue<QueuedRequest>(({ owner }) => owner);
  #running = 0;
  readonly #refused = { busy: 0, paused: 0 };
  /** The requests in the queue, by principal. None is empty. */
  readonly #waiting = new Map<string | undefined, Set<QueuedRequest>>();
  /** Whether operators know that it gets no calls. */
  #isAnnounced = false;
  /** Whether the last request that showed something failed: the breaker need not see a success after a success. */
  #hasFailed = false;
  #isClosed = false;

  constructor(options: McpLoadOptions, notify: Notify) {
    this.#options = { ...MCP_LOAD_DEFAULTS, ...options };
    this.#notify = notify;
    const { maxFaults } = this.#options;
    this.#breaker = circuitBreaker(
      // Only a call that tries the server anew may show nothing: see `#learn`.
      handleWhenResult((verdict) => verdict !== "works"),
      { breaker: new ConsecutiveBreaker(maxFaults), halfOpenAfter: new ExponentialBackoff(PAUSE_MS) },
    );
    this.#breaker.onBreak(() => {
      // Otherwise the call failed that tried it anew.
      if (this.#isAnnounced) return;
      this.#isAnnounced = true;
      this.#notify("problem", `it did not answer ${maxFaults} calls in a row, and gets none for a while`);
    });
    this.#breaker.onReset(() => {
      this.#isAnnounced = false;
      this.#hasFailed = false;
      this.#notify("connected", "it answers calls again");
    });
  }

  /** What it has to do now. */
  get state(): Omit<McpServerState, "isConnected"> {
    const { busy, paused } = this.#refused;
    return {
      isPaused: this.#isPaused,
      running: this.#running,
      waiting: this.#queue.size,
      refusedBusy: busy,
      refusedPaused: paused,
    };
  }

  get #isPaused(): boolean {
    return this.#breaker.state !== CircuitState.Closed;
  }

  /**
   * Does work when it is its turn.
   *
   * @param work Gets a function that gives its place to others while a person answers.
   * @returns what the work returns, or why it was not begun. Rejects as the work does.
   */
  async run<T>(
    { owner, signal, pause }: LoadRequest,
    work: (leave: PauseWallTime) => Promise<Judged<T>>,
  ): Promise<T | LoadRefusal> {
    if (this.#isPaused) return await this.#tryAnew(work);
    if (this.#running >= this.#options.maxConcurrent) {
      const turn = await this.#waitFor(owner, signal, pause);
      if (turn !== "begin") return turn;
    } else this.#running++;
    const { value, verdict } = await this.#occupy(work);
    if (typeof verdict === "string") this.#learn(verdict);
    else void verdict.then((known) => this.#learn(known));
    return value;
  }

  /** Whoever comes first when the pause is over tries the server. */
  async #tryAnew<T>(work: (leave: PauseWallTime) => Promise<Judged<T>>): Promise<T | LoadRefusal> {
    if (this.#breaker.state === CircuitState.HalfOpen || this.#running >= this.#options.maxConcurrent)
      return this.#refusePaused();
    const { promise, resolve, reject } = Promise.withResolvers<T | LoadRefusal>();
    this.#breaker
      .execute(async () => {
        this.#running++;
        const { value, verdict } = await this.#occupy(work);
        // The call does not wait until it is known what it shows.
        resolve(value);
        return await verdict;
      })
      .catch((error: unknown) => {
        if (isBrokenCircuitError(error)) resolve(this.#refusePaused());
        else reject(error);
      });
    return await promise;
  }

  #refusePaused(): LoadRefusal {
    this.#refused.paused++;
    return { status: "refused", message: PAUSED_TEXT, detail: "its server gets no calls for a while" };
  }

  /** Works in a place that it has, and frees the place. */
  async #occupy<T>(work: (leave: PauseWallTime) => Promise<Judged<T>>): Promise<Judged<T>> {
    let away = 0;
    const leave = (): (() => void) => {
      if (away++ === 0) this.#free();
      let isAway = true;
      return () => {
        if (!isAway) return;
        isAway = false;
        // Work that was begun does not wait again.
        if (--away === 0) this.#running++;
      };
    };
    try {
      return await work(leave);
    } finally {
      if (away === 0) this.#free();
      away = Number.POSITIVE_INFINITY;
    }
  }

  /** Ends a call's use of its place, which the next one gets. */
  #free(): void {
    this.#running--;
    while (this.#running < this.#options.maxConcurrent) {
      const next = this.#queue.next();
      if (next === undefined) return;
      this.#dequeued(next);
      if (this.#isPaused) next.settle(this.#refusePaused());
      else {
        this.#running++;
        next.settle("begin");
      }
    }
  }

  async #waitFor(
    owner: QueueOwner,
    signal: AbortSignal,
    pause: PauseWallTime | undefined,
  ): Promise<"begin" | LoadRefusal> {
    const { maxConcurrent, maxWaiting, maxWaitMs } = this.#options;
    if (signal.aborted || this.#isClosed) return CANCELLED;
    const isFull = `its server runs ${maxConcurrent} calls, and ${maxWaiting} wait`;
    if (this.#queue.size >= maxWaiting && !this.#makeRoom(owner, isFull)) return this.#refuseBusy(isFull);
    const { promise, resolve } = Promise.withResolvers<"begin" | LoadRefusal>();
    const waiting: QueuedRequest = { owner, settle: resolve };
    this.#enqueue(waiting);
    const resume = pause?.();
    const startedAt = performance.now();
    const cancel = (): void => resolve(CANCELLED);
    signal.addEventListener("abort", cancel, { once: true });
    const timer = setTimeout(() => {
      const waitedMs = Math.round(performance.now() - startedAt);
      resolve(this.#refuseBusy(`its server ran ${maxConcurrent} calls all that time`, waitedMs));
    }, maxWaitMs);
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", cancel);
      if (this.#queue.delete(waiting)) this.#dequeued(waiting);
      resume?.();
    }
  }

  #refuseBusy(detail: string, waitedMs?: number): LoadRefusal {
    this.#refused.busy++;
    return { status: "refused", message: BUSY_TEXT, detail, ...(waitedMs !== undefined && { waitedMs }) };
  }

  /** In a full queue, the principal with the most requests loses its last one to one that would have fewer. */
  #makeRoom({ principal }: QueueOwner, detail: string): boolean {
    const own = this.#waiting.get(principal)?.size ?? 0;
    let most: ReadonlySet<QueuedRequest> | undefined;
    for (const each of this.#waiting.values()) if (each.size > (most?.size ?? own + 1)) most = each;
    const last = most && [...most].at(-1);
    if (last === undefined) return false;
    this.#queue.delete(last);
    this.#dequeued(last);
    last.settle(this.#refuseBusy(detail));
    return true;
  }

  #enqueue(waiting: QueuedRequest): void {
    const { principal } = waiting.owner;
    const own = this.#waiting.get(principal);
    if (own === undefined) this.#waiting.set(principal, new Set([waiting]));
    else own.add(waiting);
    this.#queue.add(waiting);
  }

  #dequeued(waiting: QueuedRequest): void {
    const { principal } = waiting.owner;
    const own = this.#waiting.get(principal);
    own?.delete(waiting);
    if (own?.size === 0) this.#waiting.delete(principal);
  }

  #learn(verdict: LoadVerdict): void {
    // Calls that were under way when it was paused do not end the pause.
    if (verdict === "unknown" || this.#isPaused) return;
    if (verdict === "works" && !this.#hasFailed) return;
    this.#hasFailed = verdict === "fails";
    void this.#breaker.execute(() => verdict);
  }

  /** Takes everything out of the queue. */
  close(): void {
    this.#isClosed = true;
    for (const { settle } of this.#queue.takeAll()) settle(CANCELLED);
    this.#waiting.clear();
  }
}

const PAUSED_TEXT =
  "The server of this tool did not answer several calls in a row, so it gets none for up to 30 seconds: this call was not sent. Call the tool again later, or go on without it";

const BUSY_TEXT =
  "The server of this tool is busy with other calls: this one was not sent. Call the tool again later, with fewer calls at once";
