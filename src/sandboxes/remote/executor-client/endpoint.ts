import { hash } from "node:crypto";
import {
  type CircuitBreakerPolicy,
  CircuitState,
  ConsecutiveBreaker,
  circuitBreaker,
  ExponentialBackoff,
  handleWhenResult,
} from "cockatiel";
import type { Pool } from "undici";
import type { TraceHeaders } from "../../../base/trace-headers.ts";
import type { BodyRoom, EgressLimits } from "../../../egress/request.ts";
import {
  DISPATCH_PATH,
  JSON_MEDIA_TYPE,
  type ProcessStamp,
  READY_PATH,
  SESSION_HEADER,
  STREAM_MEDIA_TYPE,
} from "../../../remote-protocol/http.ts";
import { SIGNATURE_LIFETIME_MS, signRequest } from "../../../remote-protocol/signatures/sign-request.ts";
import type { ExecutorAddress } from "../../../tool/implementations/remote-implementation.ts";
import { openConnections } from "./connections.ts";
import type { CheckedCredentials } from "./credentials.ts";
import { type CallExchange, type ExchangeEnd, ExecutorExchange, type ExecutorRequest } from "./exchange.ts";
import type { FrameClient } from "./frames/frame-client.ts";
import type { AnswerStream } from "./stream.ts";
import { noReplyText, type Verdict } from "./verdict.ts";

/** How many earlier processes are remembered, to recognise them. */
const MAX_EARLIER = 16;

/** How long calls are not addressed to one process after several processes took turns, in ms. */
const MIXED_MS = 60_000;

/** The process behind an executor's address, as its answers name it. Behind a load balancer there may be several. */
export class AnsweringProcess {
  #last: ProcessStamp | undefined;
  readonly #earlier = new Set<string>();
  #mixedUntil = Number.NEGATIVE_INFINITY;

  /** The process that answered last, and its time then; `undefined` if no process has identified itself. */
  get last(): ProcessStamp | undefined {
    return this.#last;
  }

  /**
   * The process to address a call to, so that no other one runs it; `undefined` if it is not known, or if several take
   * turns.
   *
   * @param now On the clock of `performance.now()`.
   */
  only(now: number): ProcessStamp | undefined {
    return now < this.#mixedUntil ? undefined : this.#last;
  }

  /** Updates the state from an answer. */
  learn(stamp: ProcessStamp, now: number): void {
    const last = this.#last;
    if (last?.id === stamp.id) {
      if (stamp.time > last.time) this.#last = stamp;
      return;
    }
    this.#last = stamp;
    if (last === undefined) return;
    // A replaced process does not return.
    if (this.#earlier.has(stamp.id)) this.#mixedUntil = now + MIXED_MS;
    this.#earlier.add(last.id);
    const [oldest] = this.#earlier;
    if (this.#earlier.size > MAX_EARLIER && oldest !== undefined) this.#earlier.delete(oldest);
  }
}

/** How many consecutive faults open the circuit breaker. */
const FAULTS_TO_BREAK = 5;

/** How long the circuit breaker stays open at first, and at most, in ms. */
const BREAK_MS = { initialDelay: 250, maxDelay: 2_000 };

/** How old the last health check may be when a call comes, in ms; less while the executor is not ready. */
const CHECK_AFTER_MS = { ready: 5_000, notReady: 500 };

/** Milliseconds for a health check. */
const CHECK_TIMEOUT_MS = 1_000;

const CHECK_BYTES = 1_024;

/** The longest `retry-after` of an executor that is respected, in ms. */
const MAX_REST_MS = 10_000;

/** What is wrong with an executor, for the model; `undefined` if nothing is. */
type Fault = string | undefined;

/** The parts of a dispatch request. */
interface DispatchParts {
  readonly body: string;
  /** A load balancer can route by its digest. Like the next one, it is not signed. */
  readonly session: string;
  /** The headers that continue a trace: a proxy may replace them by its own span. */
  readonly trace: TraceHeaders | undefined;
  /** The budget for the response. */
  readonly room: BodyRoom;
  /** Called when the executor says that the call waits for its turn. */
  readonly onWait: () => void;
}

/** One executor: its connections, our in-flight calls, and its health. */
export class ExecutorEndpoint {
  readonly address: ExecutorAddress;
  /** How many calls of this process it is running. */
  inFlight = 0;
  /** The process that answers. */
  readonly process: AnsweringProcess = new AnsweringProcess();
  readonly #credentials: CheckedCredentials;
  readonly #pool: Pool;
  readonly #frames: FrameClient | undefined;
  readonly #headers: { readonly json: readonly string[]; readonly stream: readonly string[] };
  readonly #breaker: CircuitBreakerPolicy;
  #isReady = true;
  #checkedAt: number = performance.now();
  #check: Promise<void> | undefined;
  #restsUntil = 0;
  #lastFault: Fault;
  /** Whether the last request was without a fault. */
  #isWell = true;

  /** @param frames Its framed connection. Default: calls go over HTTP. */
  constructor(address: ExecutorAddress, credentials: CheckedCredentials, frames?: FrameClient) {
    this.#frames = frames;
    this.address = address;
    this.#credentials = credentials;
    this.#pool = openConnections(address, credentials.tls);
    const own = credentials.token === undefined ? [] : ["authorization", `Bearer ${credentials.token}`];
    const type = ["content-type", JSON_MEDIA_TYPE];
    this.#headers = {
      json: [...type, "accept", JSON_MEDIA_TYPE, ...own],
      stream: [...type, "accept", STREAM_MEDIA_TYPE, ...own],
    };
    this.#breaker = circuitBreaker(
      handleWhenResult((result) => (result as { readonly fault: Fault }).fault !== undefined),
      { breaker: new ConsecutiveBreaker(FAULTS_TO_BREAK), halfOpenAfter: new ExponentialBackoff(BREAK_MS) },
    );
  }

  /** Whether it is expected to accept calls now. */
  isAvailable(now: number): boolean {
    return this.isWorking && this.#isReady && now >= this.#restsUntil;
  }

  /** Whether the circuit breaker lets requests through. */
  get isWorking(): boolean {
    return this.#breaker.state === CircuitState.Closed;
  }

  /** The most recent fault, for the model. */
  get lastFault(): Fault {
    return this.#lastFault;
  }

  /**
   * Sends a dispatch request. It has no timeout here: the caller must cancel it.
   *
   * @param waitMs Milliseconds after which the caller does so. The signature expires then, too.
   */
  dispatch(
    { body, session, trace, room, onWait }: DispatchParts,
    waitMs: number,
    maxBytes: number,
    stream: AnswerStream | undefined,
    settle: (end: ExchangeEnd) => void,
  ): CallExchange {
    const bodyBytes = this.#frames === undefined ? 0 : Buffer.byteLength(body);
    const framed = this.#frames?.connectionFor(bodyBytes);
    if (framed !== undefined) {
      if (framed.process) this.process.learn(framed.process, performance.now());
      return framed.dispatch({ body, bodyBytes, maxBytes, stream, onWait, settle }, waitMs, trace);
    }
    const { basePath, authority } = this.address;
    const { key } = this.#credentials;
    const path = basePath + DISPATCH_PATH;
    let headers = stream === undefined ? this.#headers.json : this.#headers.stream;
    if (key !== undefined) {
      const lifetimeMs = Math.min(waitMs, SIGNATURE_LIFETIME_MS);
      const signed = signRequest({ method: "POST", authority, path, body }, key, Date.now(), lifetimeMs);
      const { "content-type": _, ...added } = signed;
      headers = [...headers, ...Object.entries(added).flat()];
    }
    headers = [...headers, SESSION_HEADER, hash("sha256", session, "base64url")];
    if (trace !== undefined) headers = [...headers, ...Object.entries(trace).flat()];
    const bounds = { bodyBytes: maxBytes, room };
    return this.#send({ method: "POST", path, headers, body }, bounds, stream, onWait, settle);
  }

  #send(
    request: ExecutorRequest,
    bounds: Pick<EgressLimits, "bodyBytes" | "room">,
    stream: AnswerStream | undefined,
    onWait: (() => void) | undefined,
    settle: (end: ExchangeEnd) => void,
  ): ExecutorExchange {
    const { url, authority } = this.address;
    const exchange = new ExecutorExchange({ url, authority }, request, bounds, {
      stream,
      onWait,
      settle: (end) => {
        if ("reply" in end && end.reply.process) this.process.learn(end.reply.process, performance.now());
        settle(end);
      },
    });
    exchange.start(this.#pool);
    return exchange;
  }

  /** Updates the health by the result of a call's request. */
  learn({ outcome, isFault, retryAfterMs = 0 }: Verdict): void {
    // A cancelled request shows nothing about the executor.
    if (outcome.status === "cancelled") return;
    if (retryAfterMs > 0) this.#restsUntil = performance.now() + Math.min(retryAfterMs, MAX_REST_MS);
    if (isFault) {
      this.#lastFault =
        "message" in outcome ? outcome.message : "The tool's executor did not respond in time";
    }
    // The breaker need not see results while it is open, nor successes after a success.
    if (!this.isWorking || (this.#isWell && !isFault)) return;
    const fault = isFault ? this.#lastFault : undefined;
    this.#isWell = !isFault;
    void this.#breaker.execute(() => ({ fault }));
  }

  /** Starts a health check in the background if the last one is too old. */
  checkIfStale(now: number): void {
    const { ready, notReady } = CHECK_AFTER_MS;
    const isFine = this.isWorking && this.#isReady;
    if (now - this.#checkedAt >= (isFine ? ready : notReady)) void this.check();
  }

  /** Checks whether it accepts calls; joins a check that is already running. Never rejects. */
  check(): Promise<void> {
    this.#check ??= this.#breaker
      .execute(() => this.#ask())
      .then(
        ({ isReady, fault }) => {
          this.#isReady = isReady;
          this.#lastFault = fault ?? this.#lastFault;
        },
        // The breaker is open, and it is too early for another try.
        () => {},
      )
      .finally(() => {
        this.#checkedAt = performance.now();
        this.#check = undefined;
      });
    return this.#check;
  }

  #ask(): Promise<{ readonly isReady: boolean; readonly fault: Fault }> {
    return new Promise((resolve) => {
      const path = this.address.basePath + READY_PATH;
      const request: ExecutorRequest = { method: "GET", path, headers: [] };
      const timer = setTimeout(() => {
        exchange.cancel();
        resolve({ isReady: false, fault: "The tool's executor does not respond" });
      }, CHECK_TIMEOUT_MS).unref();
      const exchange = this.#send(request, { bodyBytes: CHECK_BYTES }, undefined, undefined, (end) => {
        clearTimeout(timer);
        if ("failure" in end) resolve({ isReady: false, fault: noReplyText(end.failure) });
        // Any other status does not mean that it refuses calls: a proxy may not forward this path.
        else resolve({ isReady: end.reply.status !== 503, fault: undefined });
      });
    });
  }

  /** Ends all exchanges and closes all connections. */
  async close(): Promise<void> {
    await Promise.all([this.#frames?.close(), this.#pool.destroy()]);
  }
}

/** The executors of one tool. Other tools may share some of them. */
export class ExecutorFleet {
  readonly #endpoints: readonly ExecutorEndpoint[];
  /** Equally suitable executors take turns. */
  #turn = 0;

  /** @param endpoints At least one. */
  constructor(endpoints: readonly ExecutorEndpoint[]) {
    this.#endpoints = endpoints;
  }

  /**
   * Chooses the executor for a call. Executors that did not have the call come first, then those that are expected to
   * accept calls, then those with the fewest calls.
   *
   * @returns `undefined` if all circuit breakers are open.
   */
  choose(tried: ReadonlySet<ExecutorEndpoint>): ExecutorEndpoint | undefined {
    const [only] = this.#endpoints;
    const now = performance.now();
    for (const endpoint of this.#endpoints) endpoint.checkIfStale(now);
    if (this.#endpoints.length === 1) return only?.isWorking ? only : undefined;
    const working = this.#endpoints.filter((endpoint) => endpoint.isWorking);
    const rank = (endpoint: ExecutorEndpoint): number =>
      (tried.has(endpoint) ? 2 : 0) + (endpoint.isAvailable(now) ? 0 : 1);
    const best = Math.min(...working.map(rank));
    const candidates = working.filter((endpoint) => rank(endpoint) === best);
    const least = Math.min(...candidates.map(({ inFlight }) => inFlight));
    const idlest = candidates.filter(({ inFlight }) => inFlight === least);
    return idlest[this.#turn++ % idlest.length];
  }

  /** Whether an executor that did not have the call is expected to accept it. */
  hasOther(tried: ReadonlySet<ExecutorEndpoint>): boolean {
    const now = performance.now();
    return this.#endpoints.some((endpoint) => !tried.has(endpoint) && endpoint.isAvailable(now));
  }

  /** Waits for a health check of all executors, after all had failed. */
  async revive(): Promise<void> {
    await Promise.all(this.#endpoints.map((endpoint) => endpoint.check()));
  }

  /** The most recent fault of one of them, for the model. */
  get lastFault(): string {
    const faults = this.#endpoints.flatMap(({ lastFault }) => lastFault ?? []);
    return faults.at(-1) ?? "The tool's executor does not respond";
  }
}
