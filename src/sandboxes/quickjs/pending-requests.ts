import { SAFE_METHODS } from "../../base/http-syntax.ts";
import { PausableTimer, race } from "../../base/timers.ts";
import type { EgressErrorCode } from "../../egress/egress-error.ts";
import { pauseBoth } from "../../tool/wall-time.ts";
import type { GuestMemory, MemoryLease } from "../contract/guest-memory.ts";
import type { SandboxTask } from "../contract/sandbox.ts";
import type { OpenCall } from "../contract/suspension.ts";
import { CallServices, type ExternalResources, type ServiceUse } from "../guest-services/call-services.ts";
import type { HttpRules } from "../guest-services/http-service.ts";
import type {
  HttpRequest,
  ServiceError,
  ServiceFailure,
  ServiceReply,
} from "../guest-services/service-request.ts";
import type { QuickJsLimits } from "./quickjs-limits.ts";
import type { OpenRequest, SuspendedCallState } from "./suspension/call-state.ts";
import { type FetchAllowance, MAX_REQUESTS, MAX_TEXT_BYTES } from "./thread/external-access.ts";
import type { GuestRequest, WireReply } from "./thread/thread-task.ts";

/** Error texts for the tool's author, without addresses. */
const TEXTS: Readonly<Record<EgressErrorCode, string>> = {
  request_invalid: "the request is not valid: check its URL, method and headers",
  request_too_large:
    "the request exceeds the call's remaining network budget (netBytes), or the requests that wait have all the memory of the session (64 MiB), its principal (128 MiB) or all (256 MiB): send less at once",
  origin_denied:
    "the call may not send requests to this origin: its grant (capabilities.net) does not name it",
  address_denied:
    "the call may not send requests to this host: its address is neither public nor granted (capabilities.net)",
  name_not_resolved: "the host's name cannot be resolved",
  connection_refused: "the host refused the connection",
  unreachable: "there is no route to the host",
  connect_timeout: "the host did not accept a connection in time",
  certificate_invalid: "the host's certificate is not valid",
  tls_failed: "the TLS handshake failed",
  connect_failed: "the connection failed",
  connection_lost: "the connection was lost before the whole response arrived",
  headers_timeout: "the server did not respond in time",
  body_timeout: "the server did not respond in time",
  timeout: "the server did not respond in time",
  headers_too_large: "the response's headers are too large",
  body_too_large:
    "the response's body is larger than this request may receive: ask for less data, or send the request alone",
  budget_exceeded:
    "the response exceeds this request's share of the call's network budget (netBytes): ask for less data, or send the request alone",
  response_invalid: "the server sent an invalid HTTP response",
  encoding_invalid: "the server sent a body that does not match its content encoding",
  redirect_refused: "the server sent a redirect that is not allowed",
  too_many_redirects: "the server redirected too many times",
  aborted: "the request was cancelled",
  closed: "the request was cancelled",
};

/** A timer that counts only while a person is asked. */
class AskedTimer {
  readonly #timer = new PausableTimer();
  #resume: () => void;
  #asked = 0;

  constructor() {
    this.#resume = this.#timer.pause();
  }

  /** Starts to count, or waits until a person is asked. */
  start(ms: number, onExpire: () => void): void {
    this.#timer.start(ms, onExpire);
  }

  /** Stops, and returns the milliseconds that were counted since the start. */
  stop(): number {
    return this.#timer.stop();
  }

  /**
   * Reports that a person is asked. Returns a function that reports the end; calling it again has no effect.
   */
  ask(): () => void {
    if (this.#asked++ === 0) this.#resume();
    let hasEnded = false;
    return () => {
      if (hasEnded) return;
      hasEnded = true;
      if (--this.#asked === 0) this.#resume = this.#timer.pause();
    };
  }
}

const HTTP_RULES: HttpRules = Object.freeze({ maxBodyBytes: MAX_TEXT_BYTES, trustsSafeMethods: true });

/** Arguments and results of tools up to this length are not charged: they take less than the guest itself. */
const SMALL_TEXT = 16_384;

/**
 * Bytes that a running call of a tool takes for each character of its arguments, which exist as text and as
 * values.
 */
const BYTES_OF_ARGUMENTS = 3;

const NO_ROOM =
  "the calls of tools that run, and their results that wait, exceed the memory of the session (64 MiB), its principal (128 MiB) or all (256 MiB): make fewer calls at once";

/** Milliseconds by which a request over HTTP may take longer than the wall time of its call, which ends it. */
const REQUEST_GRACE_MS = 1_000;

/** The shortest wait for a timer: each takes a thread's turn. HTML has the same minimum for nested timers. */
const MIN_WAKE_MS = 4;

/** The requests of one guest, and the replies that it has not received yet. A guest that waits is suspended. */
export class PendingRequests {
  readonly #services: CallServices;
  /** The wall time of the waits, which stands still while a person is asked about a nested call. */
  readonly #timer = new PausableTimer();
  /** The time for which people are asked. */
  readonly #asked = new AskedTimer();
  /** The requests whose replies the guest has not received. */
  readonly #open = new Set<OpenRequest>();
  /** Those of them for which a person is asked. */
  readonly #asking = new Set<OpenRequest>();
  #fetches: number;
  /** The number of the last call of a tool. */
  #lastCall: number;
  #replies: (readonly [open: OpenRequest, reply: WireReply])[] = [];
  /** The requests whose replies the guest gets in the current step. */
  #delivering: readonly OpenRequest[] = [];
  readonly #openLease: () => MemoryLease;
  /** The memory of tool calls whose replies the guest has not received. */
  readonly #leases = new Map<OpenRequest, MemoryLease>();
  #onReply: (() => void) | undefined;

  /** @param earlier The state in which an earlier process suspended the call; `undefined` if it is new. */
  constructor(
    task: SandboxTask,
    resources: ExternalResources & { readonly memory: GuestMemory },
    limits: QuickJsLimits,
    earlier: SuspendedCallState | undefined,
  ) {
    this.#openLease = () => resources.memory.open(task);
    this.#services = new CallServices(task, resources, limits, HTTP_RULES, earlier?.use);
    this.#fetches = earlier?.fetches ?? 0;
    this.#lastCall = earlier?.lastCall ?? 0;
  }

  /** How many calls of other tools were made. */
  get nestedCalls(): number {
    return this.#services.nestedCalls;
  }

  /** How many requests and bytes may still be sent. */
  get fetchAllowance(): FetchAllowance {
    return { requests: MAX_REQUESTS - this.#fetches, bytes: this.#services.leftNetBytes };
  }

  /** How many requests have no reply yet, or one that the guest has not received. */
  get outstanding(): number {
    return this.#open.size;
  }

  /** Whether a person is asked about one of them. */
  get isAsking(): boolean {
    return this.#asking.size > 0;
  }

  /** The calls of tools that have no reply yet, or one that the guest has not received. */
  get openCalls(): readonly OpenCall[] {
    return Array.from(this.#open, ({ request }) => request)
      .filter((request) => request.kind === "call-tool")
      .map(({ number = 0, name }) => ({ number, toolName: name }));
  }

  get use(): ServiceUse {
    return this.#services;
  }

  /** The state of the requests that is stored with a suspended call. */
  get state(): Pick<SuspendedCallState, "requests" | "fetches" | "lastCall" | "use"> {
    const { nestedCalls, settledEffect: effect } = this.#services;
    const { contacted, bytesUp = 0, bytesDown = 0 } = this.#services.used;
    const requests = [...this.#open];
    const openCalls = requests.filter(({ request }) => request.kind === "call-tool").length;
    // What is open now counts once it is answered.
    const use = { nestedCalls: Math.max(nestedCalls - openCalls, 0), effect };
    const traffic = contacted && { contacted, bytesUp, bytesDown };
    return {
      requests,
      fetches: this.#fetches,
      lastCall: this.#lastCall,
      use: { ...use, ...(traffic && { traffic }) },
    };
  }

  /**
   * Adds the requests of one step, before the first of them is answered, which may have the call suspended at once.
   *
   * @param leftMs The remaining wall time of the call.
   */
  add(requests: readonly GuestRequest[], leftMs: number): readonly OpenRequest[] {
    return requests.map((request): OpenRequest => {
      if (request.kind === "http") this.#fetches++;
      const numbered = request.kind === "call-tool" ? { ...request, number: ++this.#lastCall } : request;
      const open = { request: numbered, leftMs };
      this.#open.add(open);
      return open;
    });
  }

  /**
   * Starts to answer requests concurrently.
   *
   * @param persist Persists the call, so that it outlives its process; `undefined` if it cannot be.
   */
  start(added: readonly OpenRequest[], persist: (() => Promise<void>) | undefined): void {
    for (const open of added) this.#answer(open, persist, false);
  }

  /** Starts to answer the requests that an earlier process did not answer. One that it may have sent is not sent again. */
  resume(requests: readonly OpenRequest[], persist: (() => Promise<void>) | undefined): void {
    for (const open of requests) this.#open.add(open);
    for (const open of requests) {
      const { request } = open;
      // A person may have been asked about it, and stays asked before anything of the guest is released.
      if (request.kind === "call-tool" && persist !== undefined) this.#asking.add(open);
      if (request.kind !== "http" || isRepeatable(request)) this.#answer(open, persist, true);
      else this.#replies.push([open, { id: request.id, error: guestError("connection_lost") }]);
    }
  }

  #answer(open: OpenRequest, persist: (() => Promise<void>) | undefined, isResumed: boolean): void {
    const { request, leftMs } = open;
    // A request of an earlier process has to be answered with its result.
    if (request.kind === "call-tool" && !isResumed) {
      const { length } = request.input;
      if (length > SMALL_TEXT && !this.#reserve(open, length * BYTES_OF_ARGUMENTS)) {
        const refused = { leftMs, request: { ...request, input: "" } };
        this.#open.delete(open);
        this.#open.add(refused);
        this.#replies.push([refused, noRoom(refused)]);
        return;
      }
    }
    const ask = (): Promise<void> => {
      this.#asking.add(open);
      return persist?.() ?? Promise.resolve();
    };
    const pause = (): (() => void) =>
      pauseBoth(
        () => this.#timer.pause(),
        () => this.#asked.ask(),
      )();
    const waits = { pause, persist: persist && ask, isResumed };
    // The call ends first, and reports its exceeded wall time: the guest must not report a failed request.
    const mostMs = request.kind === "http" ? leftMs + REQUEST_GRACE_MS : leftMs;
    const answer = this.#services.answer(request, mostMs, waits);
    void answer.then((reply) => {
      this.#asking.delete(open);
      // A body that did not fit must not stay in memory until the guest has a thread again.
      if (request.kind === "http" && "error" in reply && request.body) request.body = "";
      this.#replies.push([open, this.#charged(open, wireReply(request, reply))]);
      this.#onReply?.();
    });
  }

  /**
   * Reserves memory for the result of a tool, or replaces the result if there is not enough: the tool has
   * ended, so it cannot wait.
   */
  #charged(open: OpenRequest, reply: WireReply): WireReply {
    const { request } = open;
    const lengths = [
      request.kind === "call-tool" ? request.input.length : 0,
      typeof reply === "string" ? reply.length : 0,
    ];
    const bytes = lengths.reduce((sum, length) => (length > SMALL_TEXT ? sum + length : sum), 0);
    this.#releaseMemory(open);
    return bytes === 0 || this.#reserve(open, bytes) ? reply : noRoom(open);
  }

  /** Reserves memory for a call of a tool; `false` if there is not enough. */
  #reserve(open: OpenRequest, bytes: number): boolean {
    const lease = this.#openLease();
    if (lease.take(bytes)) {
      this.#leases.set(open, lease);
      return true;
    }
    lease.close();
    return false;
  }

  #releaseMemory(open: OpenRequest): void {
    this.#leases.get(open)?.close();
    this.#leases.delete(open);
  }

  /** Releases the memory of delivered replies. */
  #release(): void {
    for (const open of this.#delivering) {
      this.#services.delivered(open.request);
      this.#releaseMemory(open);
    }
    this.#delivering = [];
  }

  /**
   * Waits for the next reply, or until the guest's first timer is due. Returns all replies that are available then, and
   * how long the wait counted.
   *
   * @param leftWaitMs How long the call may wait for people.
   * @param wakeMs Milliseconds until the timer is due; `undefined` if there is none.
   */
  async next(
    leftMs: number,
    leftWaitMs: number,
    wakeMs: number | undefined,
    signals: readonly (AbortSignal | undefined)[],
  ): Promise<EndedWait> {
    this.#release();
    const { promise: event, resolve } = Promise.withResolvers<"reply" | "timeout" | "waited" | "wake">();
    this.#onReply = () => resolve("reply");
    if (this.#replies.length > 0) resolve("reply");
    const untilWake = wakeMs === undefined ? leftMs : Math.max(wakeMs, MIN_WAKE_MS);
    if (untilWake < leftMs) this.#timer.start(untilWake, () => resolve("wake"));
    else this.#timer.start(leftMs, () => resolve("timeout"));
    this.#asked.start(leftWaitMs, () => resolve("waited"));
    const end = await race(event, { signals });
    const waitedMs = this.#timer.stop();
    const askedMs = this.#asked.stop();
    if (end === "aborted") return { end: "cancelled", waitedMs, askedMs };
    if (end !== "reply" && end !== "wake") return { end, waitedMs, askedMs };
    for (const [open] of this.#replies) this.#open.delete(open);
    this.#delivering = this.#replies.map(([open]) => open);
    const replies = this.#replies.map(([, reply]) => reply);
    this.#replies = [];
    return { replies, waitedMs, askedMs };
  }

  /** Cancels the requests that still run, and waits for their end. */
  async end(): Promise<void> {
    await this.#services.end();
    this.#release();
    for (const lease of this.#leases.values()) lease.close();
    this.#leases.clear();
  }
}

/** The end of a wait for replies. */
export type EndedWait = {
  /** Milliseconds of the wall time. */
  readonly waitedMs: number;
  /** Milliseconds for which the wall time stood still, since a person was asked. */
  readonly askedMs: number;
} & ({ readonly replies: readonly WireReply[] } | { readonly end: "timeout" | "waited" | "cancelled" });

function noRoom({ request: { id } }: OpenRequest): WireReply {
  return { id, error: { code: "limit_exceeded", message: NO_ROOM } };
}

/**
 * Whether a request can be sent again: one with a body may not be safe, and its body is gone if it failed.
 */
function isRepeatable({ method, body }: HttpRequest): boolean {
  return SAFE_METHODS.has(method) && body === undefined;
}

/** The output of a tool is written in the turn in which it arrives: those of many calls would take too long at once. */
function wireReply({ id, kind }: GuestRequest, reply: ServiceReply): WireReply {
  if (!("ok" in reply)) return { id, error: guestError(reply.error) };
  const { ok } = reply;
  if (kind === "http") return { id, ok };
  try {
    return JSON.stringify({ id, ok });
  } catch {
    return { id, error: { code: "limit_exceeded", message: "the output of the tool is too large" } };
  }
}

/** Returns the error that is thrown in the guest. */
function guestError(failure: ServiceFailure): ServiceError {
  return typeof failure === "string" ? { code: failure, message: TEXTS[failure] } : failure;
}
