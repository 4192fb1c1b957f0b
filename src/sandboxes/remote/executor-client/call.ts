import type { DeadlineTimer } from "../../../base/timers/deadline-timer.ts";
import type { TraceHeaders } from "../../../base/trace-headers.ts";
import type { Contact, Traffic } from "../../../egress/egress-error.ts";
import { MAX_WALL_TIME_MS, type ResourceLimits, strictestLimits } from "../../../policy/grant/limits.ts";
import { writeDispatchRequest } from "../../../remote-protocol/bodies.ts";
import type { ResourceUse, SandboxOutcome } from "../../contract/outcome.ts";
import type { SandboxTask } from "../../contract/task.ts";
import type { ExecutorEndpoint } from "./endpoint.ts";
import type { ExchangeEnd, ExecutorExchange } from "./exchange.ts";
import type { ExecutorFleet } from "./fleet.ts";
import { type AskedCall, readReply } from "./reply.ts";
import { type Attempt, RETRIES, waitMs } from "./retry.ts";
import { AnswerStream } from "./stream.ts";
import { readNoReply, refused, type Verdict } from "./verdict.ts";

/** The limits that this side enforces, whatever the executor does. */
export type OwnLimits = Required<Pick<ResourceLimits, "wallTimeMs" | "outputBytes">>;

/**
 * How long after its deadline a call waits for the executor's response, in ms: the executor ends the call at the
 * deadline too, and can report its effect.
 */
const GRACE_MS = 100;

/** The size that a response may have in addition to the output and the arguments, in bytes. */
const ENVELOPE_BYTES = 65_536;

/** One call, with its attempts. It is retried only as long as it cannot have run and its time is not over. */
export class ExecutorCall {
  readonly #fleet: ExecutorFleet;
  readonly #task: SandboxTask;
  readonly #id: string;
  readonly #limits: OwnLimits;
  readonly #trace: TraceHeaders | undefined;
  readonly #startedAt: number = performance.now();
  /** On the clock of `performance.now()`, in ms. */
  readonly deadline: number;
  readonly #tried = new Set<ExecutorEndpoint>();
  readonly #contacted: Contact[] = [];
  #bytesUp = 0;
  #bytesDown = 0;
  #attempts = 0;
  #exchange: ExecutorExchange | undefined;
  #settleAttempt: ((verdict: Verdict) => void) | undefined;
  #settle: (outcome: SandboxOutcome) => void = () => {};
  #isOver = false;

  /** @param id Identifies the call for the executors; unique among the calls of the session. */
  constructor(fleet: ExecutorFleet, task: SandboxTask, id: string, limits: OwnLimits) {
    this.#fleet = fleet;
    this.#task = task;
    this.#id = id;
    this.#limits = limits;
    this.#trace = task.trace?.headers();
    this.deadline = this.#startedAt + limits.wallTimeMs + GRACE_MS;
  }

  /**
   * Runs the call. Never rejects.
   *
   * @param clock Calls {@link expire} at the deadline.
   */
  run(clock: DeadlineTimer<ExecutorCall>): Promise<SandboxOutcome> {
    return new Promise((resolve) => {
      const { signal } = this.#task;
      clock.add(this);
      signal?.addEventListener("abort", this.cancel);
      this.#settle = (outcome) => {
        clock.delete(this);
        signal?.removeEventListener("abort", this.cancel);
        resolve(outcome);
      };
      this.#attempt((first) => {
        if (first.againInMs === undefined) this.#finish(first.outcome);
        else void this.#retry(first);
      });
    });
  }

  async #retry(first: Attempt): Promise<void> {
    const { outcome } = await RETRIES.execute(({ attempt }) =>
      attempt === 0 ? first : new Promise<Attempt>((resolve) => this.#attempt(resolve)),
    );
    this.#finish(outcome);
  }

  readonly cancel = (): void => this.#end("cancelled");

  expire(): void {
    this.#end("timeout");
  }

  /** Ends the call without a response. Its connection closes, which cancels it at the executor. */
  #end(status: "timeout" | "cancelled"): void {
    if (this.#isOver) return;
    const isSent = this.#leave();
    const used = { wallTimeMs: 0 };
    const outcome: SandboxOutcome = isSent
      ? { status, effect: "unknown", used, mayStillRun: true, ended: "told" }
      : { status, effect: "none", used };
    this.#finish(outcome);
    this.#settleAttempt?.({ outcome, isFault: status === "timeout" });
  }

  #finish(outcome: SandboxOutcome): void {
    if (this.#isOver) return;
    this.#isOver = true;
    // Whatever the executor reports, these limits were enforced here too.
    const enforced = Object.freeze(strictestLimits(this.#limits, outcome.enforced ?? {}));
    this.#settle({ ...outcome, enforced, used: { ...outcome.used, ...this.#used() } });
  }

  #used(): ResourceUse {
    const wallTimeMs = performance.now() - this.#startedAt;
    const network = { bytesUp: this.#bytesUp, bytesDown: this.#bytesDown, attempts: this.#attempts };
    return { wallTimeMs, contacted: Object.freeze(this.#contacted), ...network };
  }

  #attempt(settle: (attempt: Attempt) => void): void {
    const endpoint = this.#fleet.choose(this.#tried);
    if (endpoint !== undefined) this.#ask(endpoint, settle);
    else this.#fleet.revive().then(() => this.#askRevived(settle));
  }

  #askRevived(settle: (attempt: Attempt) => void): void {
    const endpoint = this.#fleet.choose(this.#tried);
    if (endpoint !== undefined) this.#ask(endpoint, settle);
    else {
      const { lastFault } = this.#fleet;
      settle({
        outcome: refused("sandbox_unavailable", lastFault, "no executor is available"),
        isFault: false,
      });
    }
  }

  #ask(endpoint: ExecutorEndpoint, settle: (attempt: Attempt) => void): void {
    if (this.#isOver) return;
    this.#attempts++;
    this.#tried.add(endpoint);
    const { toolName, canonical, sessionId, capabilities, observer, limits: granted } = this.#task;
    const leftMs = Math.max(this.#leftMs(), 1);
    const limits = { ...granted, ...this.#limits };
    if (this.#attempts > 1) limits.wallTimeMs = Math.ceil(leftMs);
    const { outputBytes } = limits;
    const asked = { id: this.#id, name: toolName, argumentsText: canonical.text, limits };
    const waitMs = Math.min(Math.ceil(leftMs + GRACE_MS), MAX_WALL_TIME_MS);
    const body = writeDispatchRequest(asked, sessionId, { limits, capabilities }, waitMs);
    const maxBytes = outputBytes + body.length * 3 + ENVELOPE_BYTES;
    const budget = { outputBytes, logLines: granted.logLines ?? Number.POSITIVE_INFINITY };
    const stream = observer.listening === false ? undefined : new AnswerStream(observer, budget, maxBytes);
    endpoint.inFlight++;
    this.#settleAttempt = (verdict) => {
      this.#settleAttempt = undefined;
      endpoint.inFlight--;
      endpoint.learn(verdict);
      const againInMs = this.#nextAttempt(verdict);
      settle(againInMs === undefined ? verdict : { ...verdict, againInMs });
    };
    const sent = { body, trace: this.#trace };
    this.#exchange = endpoint.dispatch(sent, waitMs, maxBytes, stream, (end) => {
      this.#leave();
      this.#settleAttempt?.(this.#read(end, asked, stream?.outputBytes ?? 0));
    });
  }

  #read(end: ExchangeEnd, asked: AskedCall, streamedBytes: number): Verdict {
    if ("reply" in end) return this.#shown(readReply(end.reply, asked, streamedBytes));
    return readNoReply(end.failure);
  }

  /** Reports the call's own limits for a retried call: the executor enforced only the remaining wall time. */
  #shown(verdict: Verdict): Verdict {
    const { outcome } = verdict;
    const { enforced } = outcome;
    if (this.#attempts === 1 || enforced?.wallTimeMs === undefined) return verdict;
    return { ...verdict, outcome: { ...outcome, enforced: Object.freeze({ ...enforced, ...this.#limits }) } };
  }

  /** Returns after how many ms to retry; `undefined` if the call is not retried. */
  #nextAttempt({ retryAfterMs }: Verdict): number | undefined {
    if (retryAfterMs === undefined || this.#isOver) return undefined;
    if (this.#fleet.hasOther(this.#tried)) return 0;
    const againInMs = Math.max(waitMs(this.#attempts), retryAfterMs);
    return againInMs < this.#leftMs() ? againInMs : undefined;
  }

  #leftMs(): number {
    return this.#limits.wallTimeMs - (performance.now() - this.#startedAt);
  }

  /** Ends the current request, and returns whether a byte of it may have been sent. */
  #leave(): boolean {
    const exchange = this.#exchange;
    if (exchange === undefined) return false;
    this.#exchange = undefined;
    exchange.cancel();
    const { contacted, bytesUp, bytesDown }: Traffic = exchange.traffic;
    this.#contacted.push(...contacted);
    this.#bytesUp += bytesUp;
    this.#bytesDown += bytesDown;
    return contacted.length > 0;
  }
}
