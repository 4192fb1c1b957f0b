import {
  type CircuitBreakerPolicy,
  CircuitState,
  ConsecutiveBreaker,
  circuitBreaker,
  ExponentialBackoff,
  handleWhenResult,
} from "cockatiel";
import type { Pool } from "undici";
import {
  DISPATCH_PATH,
  JSON_MEDIA_TYPE,
  READY_PATH,
  STREAM_MEDIA_TYPE,
} from "../../../remote-protocol/http.ts";
import { signRequest } from "../../../remote-protocol/signatures/sign-request.ts";
import type { ExecutorAddress } from "../../../tool/executor-address.ts";
import { noReplyText } from "../executor-failure.ts";
import { openConnections } from "./connections.ts";
import type { CheckedCredentials } from "./credentials.ts";
import { type ExchangeEnd, ExecutorExchange, type ExecutorRequest } from "./exchange.ts";
import type { AnswerStream } from "./stream.ts";
import type { Verdict } from "./verdict.ts";

/** So many faults in a row, and nothing is sent for a while. */
const FAULTS_TO_BREAK = 5;
/** For how long: from the first to the longest, in ms. */
const BREAK_MS = { initialDelay: 250, maxDelay: 2_000 };
/** How old the knowledge of an executor's readiness may be while calls come, in ms; less while it is not ready. */
const CHECK_AFTER_MS = { ready: 5_000, notReady: 500 };
/** Milliseconds for a health check. */
const CHECK_TIMEOUT_MS = 1_000;
const CHECK_BYTES = 1_024;
/** The longest that an executor's word for how long to leave it alone is taken for, in ms. */
const MAX_REST_MS = 10_000;

/** Why an executor is not to be asked, or `undefined` when it did well. */
type Fault = string | undefined;

/** One executor: its connections, how many calls it has of ours, and whether it does well. */
export class ExecutorEndpoint {
  readonly address: ExecutorAddress;
  /** Calls of ours that it has. */
  inFlight = 0;
  readonly #credentials: CheckedCredentials;
  readonly #pool: Pool;
  readonly #headers: { readonly json: readonly string[]; readonly stream: readonly string[] };
  readonly #breaker: CircuitBreakerPolicy;
  #isReady = true;
  #checkedAt: number = performance.now();
  #check: Promise<void> | undefined;
  #restsUntil = 0;
  #lastFault: Fault;
  /** Whether the last request went well. */
  #isWell = true;

  /** @param ca Certificates of authorities to trust instead of the usual ones, in PEM. */
  constructor(address: ExecutorAddress, credentials: CheckedCredentials, ca: string | undefined) {
    this.address = address;
    this.#credentials = credentials;
    this.#pool = openConnections(address, ca);
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

  /** Whether it is believed to take calls now. */
  isAvailable(now: number): boolean {
    return this.isWorking && this.#isReady && now >= this.#restsUntil;
  }

  /** Whether it may be asked at all. */
  get isWorking(): boolean {
    return this.#breaker.state === CircuitState.Closed;
  }

  /** What went wrong last, for the model. */
  get lastFault(): Fault {
    return this.#lastFault;
  }

  /** Sends a dispatch. Whoever sends it ends it in time. */
  dispatch(
    body: string,
    maxBytes: number,
    stream: AnswerStream | undefined,
    settle: (end: ExchangeEnd) => void,
  ): ExecutorExchange {
    const { basePath, authority } = this.address;
    const { key } = this.#credentials;
    const path = basePath + DISPATCH_PATH;
    let headers = stream === undefined ? this.#headers.json : this.#headers.stream;
    if (key !== undefined) {
      const signed = signRequest({ method: "POST", authority, path, body }, key);
      const { "content-type": _, ...added } = signed;
      headers = [...headers, ...Object.entries(added).flat()];
    }
    return this.#send({ method: "POST", path, headers, body }, maxBytes, stream, settle);
  }

  #send(
    request: ExecutorRequest,
    maxBytes: number,
    stream: AnswerStream | undefined,
    settle: (end: ExchangeEnd) => void,
  ): ExecutorExchange {
    const { url, authority } = this.address;
    const exchange = new ExecutorExchange({ url, authority }, request, maxBytes, stream, settle);
    exchange.start(this.#pool);
    return exchange;
  }

  /** Learns from what a request of a call came to. */
  learn({ outcome, isFault, retryAfterMs = 0 }: Verdict): void {
    // Whoever leaves early has seen nothing.
    if (outcome.status === "cancelled") return;
    if (retryAfterMs > 0) this.#restsUntil = performance.now() + Math.min(retryAfterMs, MAX_REST_MS);
    if (isFault) {
      this.#lastFault = "message" in outcome ? outcome.message : "The tool's executor did not answer in time";
    }
    // What comes after the breaker opened, or well while nothing is wrong, changes nothing.
    if (!this.isWorking || (this.#isWell && !isFault)) return;
    const fault = isFault ? this.#lastFault : undefined;
    this.#isWell = !isFault;
    void this.#breaker.execute(() => ({ fault }));
  }

  /** Asks in the background whether it takes calls, if that was not asked for a while. */
  checkIfStale(now: number): void {
    const { ready, notReady } = CHECK_AFTER_MS;
    const isFine = this.isWorking && this.#isReady;
    if (now - this.#checkedAt >= (isFine ? ready : notReady)) void this.check();
  }

  /** Asks whether it takes calls; what is asked already is not asked twice. Never rejects. */
  check(): Promise<void> {
    this.#check ??= this.#breaker
      .execute(() => this.#ask())
      .then(
        ({ isReady, fault }) => {
          this.#isReady = isReady;
          this.#lastFault = fault ?? this.#lastFault;
        },
        // The breaker is open, and it is too early to try.
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
        resolve({ isReady: false, fault: "The tool's executor does not answer" });
      }, CHECK_TIMEOUT_MS).unref();
      const exchange = this.#send(request, CHECK_BYTES, undefined, (end) => {
        clearTimeout(timer);
        if ("failure" in end) resolve({ isReady: false, fault: noReplyText(end.failure) });
        // Whatever else answers is no reason to believe that it takes no calls.
        else resolve({ isReady: end.reply.status !== 503, fault: undefined });
      });
    });
  }

  /** Ends every exchange and every connection. */
  close(): Promise<void> {
    return this.#pool.destroy();
  }
}
