import { PausableTimer } from "../../base/timers/pausable-timer.ts";
import { race } from "../../base/timers/race.ts";
import type { SandboxTask } from "../contract/task.ts";
import { CallServices, type ExternalResources, type ServiceUse } from "../guest-services/call-services.ts";
import type { HttpRules } from "../guest-services/http-service.ts";
import type { ServiceReply } from "../guest-services/service-request.ts";
import { guestError } from "./guest-error.ts";
import type { QuickJsLimits } from "./quickjs-limits.ts";
import { type FetchAllowance, MAX_REQUESTS, MAX_TEXT_BYTES } from "./thread/external-access.ts";
import type { GuestRequest, WireReply } from "./thread/thread-task.ts";

const HTTP_RULES: HttpRules = Object.freeze({ maxBodyBytes: MAX_TEXT_BYTES, trustsSafeMethods: true });

/** The shortest wait for a timer: each takes a thread's turn. HTML has the same minimum for nested timers. */
const MIN_WAKE_MS = 4;

/** The requests of one guest, and the replies that it has not received yet. A guest that waits is suspended. */
export class PendingRequests {
  readonly #services: CallServices;
  /** The wall time of the waits, which stands still while a person is asked about a nested call. */
  readonly #timer = new PausableTimer();
  #fetches = 0;
  #outstanding = 0;
  #replies: WireReply[] = [];
  #onReply: (() => void) | undefined;

  constructor(task: SandboxTask, resources: ExternalResources, limits: QuickJsLimits) {
    this.#services = new CallServices(task, resources, limits, HTTP_RULES);
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
    return this.#outstanding;
  }

  get use(): ServiceUse {
    return this.#services;
  }

  /**
   * Starts to answer the requests of one step, all at once.
   *
   * @param leftMs The remaining wall time of the call.
   */
  start(requests: readonly GuestRequest[], leftMs: number): void {
    for (const request of requests) {
      this.#outstanding++;
      if (request.kind === "http") this.#fetches++;
      const answer = this.#services.answer(request, leftMs, () => this.#timer.pause());
      void answer.then((reply) => this.#receive(request, reply));
    }
  }

  #receive(request: GuestRequest, reply: ServiceReply): void {
    this.#replies.push(wireReply(request, reply));
    this.#onReply?.();
  }

  /**
   * Waits for the next reply, or until the guest's first timer is due. Returns all replies that are available then, and
   * how long the wait counted.
   *
   * @param wakeMs Milliseconds until the timer is due; `undefined` if there is none.
   */
  async next(
    leftMs: number,
    wakeMs: number | undefined,
    signals: readonly (AbortSignal | undefined)[],
  ): Promise<EndedWait> {
    const { promise: event, resolve } = Promise.withResolvers<"reply" | "timeout" | "wake">();
    this.#onReply = () => resolve("reply");
    if (this.#replies.length > 0) resolve("reply");
    const untilWake = wakeMs === undefined ? leftMs : Math.max(wakeMs, MIN_WAKE_MS);
    if (untilWake < leftMs) this.#timer.start(untilWake, () => resolve("wake"));
    else this.#timer.start(leftMs, () => resolve("timeout"));
    const end = await race(event, { signals });
    const waitedMs = this.#timer.stop();
    if (end !== "reply" && end !== "wake")
      return { end: end === "timeout" ? "timeout" : "cancelled", waitedMs };
    const replies = this.#replies;
    this.#outstanding -= replies.length;
    this.#replies = [];
    return { replies, waitedMs };
  }

  /** Cancels the requests that still run, and waits for their end. */
  end(): Promise<void> {
    return this.#services.end();
  }
}

/** The end of a wait for replies. */
export type EndedWait = {
  /** Milliseconds of the wall time. */
  readonly waitedMs: number;
} & ({ readonly replies: readonly WireReply[] } | { readonly end: "timeout" | "cancelled" });

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
