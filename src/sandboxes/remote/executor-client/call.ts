import { DelegateBackoff, handleWhenResult, type RetryPolicy, retry } from "cockatiel";
import type { DeadlineTimer } from "../../../base/timers.ts";
import type { TraceHeaders } from "../../../base/trace-headers.ts";
import type { Contact, Traffic } from "../../../egress/egress-error.ts";
import { MAX_WALL_TIME_MS, type ResourceLimits, strictestLimits } from "../../../policy/grant/limits.ts";
import { writeDispatchRequest } from "../../../remote-protocol/bodies.ts";
import type { ProcessStamp } from "../../../remote-protocol/http.ts";
import { type DispatchRequest, MAX_MODEL_TEXT } from "../../../remote-protocol/shapes.ts";
import { changesNothing, UNDECLARED_SIDE_EFFECTS } from "../../../tool/side-effects.ts";
import type { MemoryLease } from "../../contract/guest-memory.ts";
import type { ResourceUse, SandboxOutcome } from "../../contract/outcome.ts";
import { type SandboxTask, traceHeadersOf } from "../../contract/sandbox.ts";
import type { ExecutorEndpoint, ExecutorFleet } from "./endpoint.ts";
import type { CallExchange, ExchangeEnd } from "./exchange.ts";
import { LostResult } from "./lost-result.ts";
import { type AskedCall, readReply } from "./reply.ts";
import { AnswerStream } from "./stream.ts";
import { readNoReply, refused, type Verdict } from "./verdict.ts";

/** How often a call that cannot have run is retried, at most. */
const MAX_RETRIES = 5;

/** The delay before the first retry, in ms; it doubles with each one. */
const FIRST_WAIT_MS = 50;

/** The result of one request, and after how many ms the call is retried; `undefined` if it is not. */
type Attempt = Verdict & { readonly againInMs?: number };

/** Retries as long as `againInMs` is set. Its timers are unreferenced: the calls' clock keeps the process alive. */
const RETRIES: RetryPolicy = retry(
  handleWhenResult((attempt) => (attempt as Attempt).againInMs !== undefined),
  {
    maxAttempts: MAX_RETRIES,
    backoff: new DelegateBackoff(({ result }) =>
      "value" in result ? ((result.value as Attempt).againInMs ?? 0) : 0,
    ),
  },
).dangerouslyUnref();

/** The limits that this side enforces, whatever the executor does. */
export type OwnLimits = Required<Pick<ResourceLimits, "wallTimeMs" | "outputBytes">>;

/**
 * How long after its deadline a call waits for the executor's response, in ms: the executor ends the call at the
 * deadline too, and can report its effect.
 */
const GRACE_MS = 100;

/** What an {@link ExecutorCall} consists of. */
export interface ExecutorCallParts {
  readonly fleet: ExecutorFleet;
  readonly task: SandboxTask;
  /** Identifies the call for the executors; unique among the calls of the session. */
  readonly id: string;
  readonly limits: OwnLimits;
  /** How long it may wait at executors until it begins, in ms: it is not known here when it does. */
  readonly maxWaitMs: number;
  /** Where its request and the response have to have room. Closed when it ends. */
  readonly room: MemoryLease;
}

/** The size that a response may have in addition to the output and the arguments, in bytes. */
const ENVELOPE_BYTES = 65_536;

/** Maximum number of bytes of the text for the model: JSON writes a control character as six. */
const MODEL_TEXT_BYTES = MAX_MODEL_TEXT * 6;

/**
 * One call, with its attempts. It is retried only as long as it cannot have run, or changes nothing, and its time is not over.
 * If its result was lost, the executor is asked for it.
 */
export class ExecutorCall {
  readonly #fleet: ExecutorFleet;
  readonly #task: SandboxTask;
  readonly #id: string;
  readonly #limits: OwnLimits;
  readonly #room: MemoryLease;
  /** How long it may wait at executors, in ms. */
  readonly #maxWaitMs: number;
  /** Milliseconds until its time is over, from the start: its wall time and, once an executor said that it waits, all that it may wait. */
  #mostMs: number;
  readonly #trace: TraceHeaders | undefined;
  readonly #startedAt: number = performance.now();
  readonly #tried = new Set<ExecutorEndpoint>();
  readonly #contacted: Contact[] = [];
  #bytesUp = 0;
  #bytesDown = 0;
  #attempts = 0;
  /** The process to which the call was addressed first; `undefined` if any may run it. */
  #only: ProcessStamp | undefined;
  #lost: LostResult | undefined;
  /** Whether chunks or log lines were passed on. Others of a further request would repeat them. */
  #hasStreamed = false;
  /** Whether the call was addressed to another process than the one that got it. */
  #isElsewhere = false;
  readonly #isRepeatable: boolean;
  #exchange: CallExchange | undefined;
  #settleAttempt: ((verdict: Verdict) => void) | undefined;
  #settle: (outcome: SandboxOutcome) => void = () => {};
  #isOver = false;

  constructor({ fleet, task, id, limits, maxWaitMs, room }: ExecutorCallParts) {
    this.#room = room;
    this.#fleet = fleet;
    this.#task = task;
    this.#id = id;
    this.#limits = limits;
    this.#isRepeatable = changesNothing(task.implementations.sideEffects ?? UNDECLARED_SIDE_EFFECTS);
    this.#trace = traceHeadersOf(task);
    this.#maxWaitMs = maxWaitMs;
    this.#mostMs = limits.wallTimeMs;
  }

  /** On the clock of `performance.now()`, in ms. It moves once at most. */
  get deadline(): number {
    return this.#startedAt + this.#mostMs + GRACE_MS;
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
      const bytes = this.#task.canonical.text.length;
      if (this.#room.take(bytes)) this.#begin();
      else void this.#beginLater(bytes);
    });
  }

  #begin(): void {
    this.#attempt((first) => {
      if (first.againInMs === undefined) this.#finish(first.outcome);
      else void this.#retry(first);
    });
  }

  /** Begins as soon as there is memory for the request. */
  async #beginLater(bytes: number): Promise<void> {
    const hasRoom = await this.#room.wait(bytes);
    if (this.#isOver) return;
    if (hasRoom) this.#begin();
    else this.#finish(this.#withoutRoom("the request", { effect: "none", used: { wallTimeMs: 0 } }));
  }

  #withoutRoom(what: string, { effect, used }: Pick<SandboxOutcome, "effect" | "used">): SandboxOutcome {
    return {
      status: "limit_exceeded",
      limit: "outputBytes",
      message: this.#room.refusal(what),
      effect,
      used,
    };
  }

  async #retry(first: Attempt): Promise<void> {
    const { outcome } = await RETRIES.execute(({ attempt }) =>
      attempt === 0 ? first : new Promise<Attempt>((resolve) => this.#attempt(resolve)),
    );
    this.#finish(outcome);
  }

  /** An executor says that the call waits for its turn, or has waited. What it says again changes nothing. */
  readonly #wait = (): void => {
    this.#mostMs = this.#limits.wallTimeMs + this.#maxWaitMs;
    this.#task.turn?.waits();
  };

  readonly cancel = (): void => this.#end("cancelled");

  expire(): void {
    this.#end("timeout");
  }

  /** Ends the call without a response. Its connection closes, which cancels it at the executor. */
  #end(status: "timeout" | "cancelled"): void {
    if (this.#isOver) return;
    const isSent = this.#leave() || this.#lost !== undefined;
    const used = { wallTimeMs: 0 };
    const outcome: SandboxOutcome = isSent
      ? { status, effect: "unknown", used, mayStillRun: true, ended: "requested" }
      : { status, effect: "none", used };
    this.#finish(outcome);
    this.#settleAttempt?.({ outcome, isFault: status === "timeout" });
  }

  #finish(outcome: SandboxOutcome): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#room.close();
    // Whatever the executor reports, these limits were enforced here too.
    const enforced = Object.freeze(strictestLimits(this.#limits, outcome.enforced ?? {}));
    this.#settle({ ...outcome, enforced, used: { ...outcome.used, ...this.#used(outcome) } });
  }

  #used(outcome: SandboxOutcome): ResourceUse {
    const elapsedMs = this.#elapsedMs;
    const { waitedMs = 0 } = outcome.used;
    const hasWaited = outcome.status === "unavailable" && outcome.hasWaited === true;
    const waited = hasWaited ? { wallTimeMs: 0, waitedMs: Math.round(elapsedMs) } : undefined;
    const wallTimeMs = Math.max(elapsedMs - waitedMs, 0);
    const network = { bytesUp: this.#bytesUp, bytesDown: this.#bytesDown, attempts: this.#attempts };
    return { wallTimeMs, ...waited, contacted: Object.freeze(this.#contacted), ...network };
  }

  #attempt(settle: (attempt: Attempt) => void): void {
    const lost = this.#lost;
    if (lost !== undefined && !lost.isRepeatable) {
      void this.#askAgain(lost, settle);
      return;
    }
    const endpoint = this.#fleet.choose(this.#tried);
    if (endpoint !== undefined) this.#ask(endpoint, settle);
    else this.#fleet.revive().then(() => this.#askRevived(settle));
  }

  /** Asks an executor for a call that it may have, but must not run twice. Those that know how to do so name themselves. */
  async #askAgain({ endpoint, outcome }: LostResult, settle: (attempt: Attempt) => void): Promise<void> {
    if (endpoint.process.last === undefined) await endpoint.check();
    if (endpoint.process.last === undefined) settle({ outcome, isFault: false });
    else this.#ask(endpoint, settle);
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
    // What an earlier response took is free again.
    if (this.#attempts++ > 0) this.#room.settle(this.#task.canonical.text.length);
    this.#tried.add(endpoint);
    const { toolName, canonical, sessionId, capabilities, observer, limits: granted } = this.#task;
    const elapsedMs = this.#elapsedMs;
    const leftMs = Math.max(this.#mostMs - elapsedMs, 1);
    const limits = { ...granted, ...this.#limits };
    if (this.#attempts > 1) limits.wallTimeMs = Math.min(Math.ceil(leftMs), limits.wallTimeMs);
    const { outputBytes } = limits;
    // The executor may answer with the result of the first request.
    const bound = this.#lost === undefined ? limits : { ...granted, ...this.#limits };
    const asked = { id: this.#id, name: toolName, argumentsText: canonical.text, limits: bound };
    // For as long as the client waits if the executor says that the call does.
    const longestMs = Math.max(this.#limits.wallTimeMs + this.#maxWaitMs - elapsedMs, 1);
    const waitMs = Math.min(Math.ceil(longestMs + GRACE_MS), MAX_WALL_TIME_MS);
    const body = writeDispatchRequest(
      asked,
      sessionId,
      { limits, capabilities },
      waitMs,
      this.#address(endpoint),
    );
    const maxBytes = outputBytes + body.length * 3 + ENVELOPE_BYTES + MODEL_TEXT_BYTES;
    const budget = { outputBytes, logLines: granted.logLines ?? Number.POSITIVE_INFINITY };
    const isSilent = observer.listening === false || this.#hasStreamed;
    const stream = isSilent ? undefined : new AnswerStream(observer, budget, maxBytes, this.#wait);
    endpoint.inFlight++;
    this.#settleAttempt = (verdict) => {
      this.#settleAttempt = undefined;
      endpoint.inFlight--;
      endpoint.learn(verdict);
      this.#hasStreamed ||= stream?.hasBegun === true;
      const known = this.#take(verdict, endpoint);
      const againInMs = this.#nextAttempt(known);
      settle(againInMs === undefined ? known : { ...known, againInMs });
    };
    const sent = { body, session: sessionId, trace: this.#trace, room: this.#room, onWait: this.#wait };
    this.#exchange = endpoint.dispatch(sent, waitMs, maxBytes, stream, (end) => {
      this.#leave();
      this.#settleAttempt?.(this.#read(end, asked, stream?.outputBytes ?? 0));
    });
  }

  /** Returns which process may run the call, and under which condition. */
  #address(endpoint: ExecutorEndpoint): Pick<DispatchRequest, "executor" | "again"> {
    const lost = this.#lost;
    if (this.#isRepeatable) return {};
    // An executor that refused the call as another process gets it as any process.
    if (lost === undefined)
      this.#only = this.#isElsewhere ? undefined : endpoint.process.only(performance.now());
    const only = this.#only;
    if (lost === undefined) return only === undefined ? {} : { executor: only.id };
    return only === undefined ? { again: {} } : { executor: only.id, again: { after: only.time } };
  }

  /** Returns what a request shows about the call, considering those before it. */
  #take(verdict: Verdict, endpoint: ExecutorEndpoint): Verdict {
    if (verdict.problem === "other_executor") this.#isElsewhere = true;
    const lost = this.#lost;
    if (verdict.isLost !== true) return lost === undefined ? verdict : lost.read(verdict);
    if (lost === undefined) this.#lost = new LostResult(endpoint, verdict.outcome, this.#isRepeatable);
    else lost.lostAgain();
    return this.#lost?.canAskAgain === true ? { ...verdict, retryAfterMs: 0 } : verdict;
  }

  #read(end: ExchangeEnd, asked: AskedCall, streamedBytes: number): Verdict {
    if ("reply" in end) return this.#shown(readReply(end.reply, asked, streamedBytes));
    const verdict = readNoReply(end.failure);
    if (!this.#room.wasRefused) return verdict;
    return { outcome: this.#withoutRoom("the response", verdict.outcome), isFault: false };
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
    const isBound = this.#lost !== undefined && !this.#isRepeatable;
    if (!isBound && this.#fleet.hasOther(this.#tried)) return 0;
    const againInMs = Math.max(waitMs(this.#attempts), retryAfterMs);
    // A call that may have begun can still be running. One that was refused must not be tried for as long as it may wait.
    const untilMs = this.#lost === undefined ? this.#limits.wallTimeMs : this.#mostMs;
    return againInMs < untilMs - this.#elapsedMs ? againInMs : undefined;
  }

  get #elapsedMs(): number {
    return performance.now() - this.#startedAt;
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

/** The delay after a number of attempts, in ms: exponential backoff with jitter. */
function waitMs(attempts: number): number {
  return FIRST_WAIT_MS * 2 ** (attempts - 1) * (0.75 + Math.random() / 2);
}
