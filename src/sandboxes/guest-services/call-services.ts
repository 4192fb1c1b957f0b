import { race } from "../../base/timers.ts";
import {
  KeyValueFullError,
  type KeyValueStore,
  type KeyValueStores,
  MAX_KEY_BYTES,
  MAX_LISTED_KEYS,
  MAX_VALUE_BYTES,
} from "../../tool/key-value-store.ts";
import { GuestMemory } from "../contract/guest-memory.ts";
import type { CallEffect, ResourceUse } from "../contract/outcome.ts";
import { ownerOf, type SandboxTask, type TaskObserver } from "../contract/sandbox.ts";
import { type HttpRules, HttpService, type OpenEgress } from "./http-service.ts";
import type {
  KeyValueRequest,
  ServiceError,
  ServiceFailure,
  ServiceReply,
  ServiceRequest,
  TimedRequest,
} from "./service-request.ts";
import { type EarlierUse, ToolService, type Waits } from "./tool-service.ts";

/** The maximum number of denials of one call that are logged, and the maximum length of a name in one. */
const MAX_LOGGED = 10;

const MAX_NAME_LENGTH = 200;

/**
 * Logs the tools, stores and origins that a guest requested without a grant, with the capability that is
 * missing: the guest itself may not report it, or only in its own words. For the operator, not for the model.
 */
class Denials {
  readonly #observer: TaskObserver;
  readonly #logged = new Set<string>();

  constructor(observer: TaskObserver) {
    this.#observer = observer;
  }

  /** Logs a reply if it is a denial, once. */
  note(request: ServiceRequest, reply: ServiceReply): void {
    if (!("error" in reply) || this.#logged.size >= MAX_LOGGED) return;
    const what = denialOf(request, reply.error);
    if (what === undefined || this.#logged.has(what)) return;
    this.#logged.add(what);
    this.#observer.log("warn", `denied: ${what}`);
  }
}

/** Resources of a sandbox that its calls can use if their grants allow it. */
export interface ExternalResources {
  /** Default: none, and every request for a store is denied. */
  readonly keyValue?: KeyValueStores | undefined;
  /** Called for each HTTP request that is sent. Default: none, and every request is denied. */
  readonly openEgress?: OpenEgress | undefined;
  /** The memory for what is in flight for guests. Default: one for each call. */
  readonly memory?: GuestMemory | undefined;
}

/** The limits of a call that are enforced here. */
export interface ServiceLimits {
  readonly nestedCalls: number;
  readonly netBytes: number;
}

/** What a call did through services. */
export interface ServiceUse {
  readonly effect: CallEffect;
  readonly used: Omit<ResourceUse, "wallTimeMs">;
}

const UNAVAILABLE: ServiceReply = { error: { code: "unavailable", message: "the service is not available" } };

/**
 * Answers the requests of one call's guest, and denies what the call's grant does not allow. Most calls request
 * nothing, so it is created for the first request.
 */
export class CallServices implements ServiceUse {
  readonly #tools: ToolService;
  readonly #keyValue: KeyValueService;
  readonly #http: HttpService;
  readonly #denials: Denials;
  readonly #cancel = new AbortController();
  readonly #running = new Set<Promise<unknown>>();

  constructor(
    task: SandboxTask,
    { keyValue, openEgress, memory = new GuestMemory() }: ExternalResources,
    { nestedCalls, netBytes }: ServiceLimits,
    rules: HttpRules,
    earlier?: EarlierUse,
  ) {
    const { callTool, capabilities, observer, sessionId } = task;
    this.#denials = new Denials(observer);
    this.#tools = new ToolService(callTool, nestedCalls, ownerOf(task), earlier);
    this.#keyValue = new KeyValueService(keyValue, { granted: capabilities.keyValue ?? [], sessionId });
    const http = { ...rules, grants: capabilities.net ?? [], netBytes };
    this.#http = new HttpService(openEgress, { ...http, openLease: () => memory.open(task) });
    if (earlier?.traffic !== undefined) this.#http.restore(earlier.traffic);
  }

  /** The effect of the requests: `unknown` as long as one is running that may change something. */
  get effect(): CallEffect {
    const effects = [this.#tools.effect, this.#keyValue.effect, this.#http.effect];
    return effects.every((effect) => effect === "none") ? "none" : "unknown";
  }

  /** The effect of the requests that do not run any more. */
  get settledEffect(): CallEffect {
    const effects = [this.#tools.settledEffect, this.#keyValue.effect, this.#http.settledEffect];
    return effects.every((effect) => effect === "none") ? "none" : "unknown";
  }

  get used(): ServiceUse["used"] {
    const { nestedCalls } = this;
    return { ...(nestedCalls > 0 && { nestedCalls }), ...this.#http.traffic };
  }

  /** How many calls of other tools were made. */
  get nestedCalls(): number {
    return this.#tools.count;
  }

  /** Bytes that may still be sent and received. */
  get leftNetBytes(): number {
    return this.#http.leftBytes;
  }

  /**
   * Replies to a request; any number can run at once. Never rejects.
   *
   * @param leftMs The remaining wall time of the call; `undefined` if it has no limit.
   * @param waits How the guest waits. Default: its time cannot be stopped, as its thread is blocked.
   */
  async answer(
    request: ServiceRequest,
    leftMs: number | undefined,
    waits: Waits = {},
  ): Promise<ServiceReply> {
    const running = this.#answer(request, leftMs, waits);
    this.#running.add(running);
    try {
      const reply = await running;
      this.#denials.note(request, reply);
      return reply;
    } catch {
      // Nothing here is meant to throw. Without a reply, the guest would wait until its deadline.
      return UNAVAILABLE;
    } finally {
      this.#running.delete(running);
    }
  }

  /**
   * Replies to a request of a guest whose thread is blocked. Never rejects.
   *
   * @returns the reply, or its JSON text if that is faster to send: a large body is sent as the string that it is, but
   *   the output of a tool can have many values.
   */
  async answerTimed({ request, leftMs }: TimedRequest): Promise<ServiceReply | string> {
    const reply = await this.answer(request, leftMs);
    this.delivered(request);
    if (request.kind !== "call-tool") return reply;
    try {
      return JSON.stringify(reply);
    } catch {
      // For example, an output that is longer than a string can be.
      return UNAVAILABLE;
    }
  }

  #answer(request: ServiceRequest, leftMs: number | undefined, waits: Waits): Promise<ServiceReply> {
    const { signal } = this.#cancel;
    switch (request.kind) {
      case "call-tool":
        return this.#tools.answer(request, leftMs, signal, waits);
      case "http":
        return this.#http.answer(request, leftMs, signal);
      default:
        return this.#keyValue.answer(request, signal);
    }
  }

  /** Reports that the guest has received the reply to a request. */
  delivered(request: ServiceRequest): void {
    this.#http.delivered(request);
  }

  /** Cancels the requests that still run, and waits for their end. */
  async end(): Promise<void> {
    if (this.#running.size > 0) {
      this.#cancel.abort();
      await Promise.allSettled(this.#running);
    }
    this.#http.end();
  }
}

/** Returns what was denied, and the capability that would give it; `undefined` for other errors. */
function denialOf(request: ServiceRequest, error: ServiceFailure): string | undefined {
  if (request.kind === "http") {
    const redirected = request.followRedirects ? ", or one to which it redirects" : "";
    if (error === "origin_denied") {
      return `the capability 'net' does not name the origin ${originOf(request.url)}${redirected}`;
    }
    if (error !== "address_denied") return undefined;
    return `the address of ${originOf(request.url)}${redirected} is neither public nor named by the capability 'net'`;
  }
  if (typeof error === "string" || error.code !== "permission_denied") return undefined;
  return request.kind === "call-tool"
    ? `a call of the tool ${nameOf(request.name)}: ${error.message}`
    : `the capability 'keyValue' does not give the store ${nameOf(request.store)}`;
}

/** Returns the origin of a URL, whose other parts may be secret. */
function originOf(url: string): string {
  const { protocol, host } = URL.parse(url) ?? { protocol: "", host: "" };
  return nameOf(`${protocol}//${host}`);
}

function nameOf(text: string): string {
  return `'${text.slice(0, MAX_NAME_LENGTH)}'`;
}

/** Which stores a call may use. */
interface KeyValueScope {
  /** The names of the stores that were granted. */
  readonly granted: readonly string[];
  readonly sessionId: string;
}

/** Uses key-value stores for one call. */
class KeyValueService {
  readonly #stores: KeyValueStores | undefined;
  readonly #scope: KeyValueScope;
  readonly #opened = new Map<string, KeyValueStore>();
  #effect: CallEffect = "none";

  /** @param stores `undefined` if the embedder configured none. */
  constructor(stores: KeyValueStores | undefined, scope: KeyValueScope) {
    this.#stores = stores;
    this.#scope = scope;
  }

  /** The effect of the requests. A write may have happened even if the store reported an error. */
  get effect(): CallEffect {
    return this.#effect;
  }

  async answer(request: KeyValueRequest, signal: AbortSignal): Promise<ServiceReply<unknown, ServiceError>> {
    const { store: name } = request;
    if (this.#stores === undefined || !this.#scope.granted.includes(name)) {
      return failure("permission_denied", `the store '${name.slice(0, 64)}' was not granted`);
    }
    try {
      const problem = problemOf(request);
      if (problem !== undefined) return problem;
      // A store that does not answer must not prevent the call from ending.
      const value = await race(this.#use(this.#stores, request, signal), { signals: [signal] });
      return value === "aborted" ? failure("unavailable", "the call has ended") : { ok: value.ok };
    } catch (error) {
      if (error instanceof KeyValueFullError) return failure("full", "the store is full");
      return failure("unavailable", "the store is not available");
    }
  }

  async #use(
    stores: KeyValueStores,
    request: KeyValueRequest,
    signal: AbortSignal,
  ): Promise<{ readonly ok: unknown }> {
    const { store: name } = request;
    const store = this.#opened.get(name) ?? (await stores.open(name, this.#scope.sessionId));
    this.#opened.set(name, store);
    // Opening it may have taken longer than the call.
    signal.throwIfAborted();
    switch (request.kind) {
      case "get": {
        const value = await store.get(request.key, signal);
        if (value === undefined) return { ok: null };
        if (value.length > MAX_VALUE_BYTES)
          throw new RangeError("the store returned a value that is too large");
        return { ok: Buffer.from(value).toString("base64") };
      }
      case "set":
        this.#effect = "unknown";
        await store.set(request.key, new Uint8Array(Buffer.from(request.value, "base64")), signal);
        return { ok: null };
      case "delete":
        this.#effect = "unknown";
        await store.delete(request.key, signal);
        return { ok: null };
      case "list-keys": {
        const keys = await store.listKeys(request.after, MAX_LISTED_KEYS, signal);
        return { ok: keys.slice(0, MAX_LISTED_KEYS).map((key) => String(key).toWellFormed()) };
      }
    }
  }
}

function problemOf(request: KeyValueRequest): ServiceReply<never, ServiceError> | undefined {
  if (request.kind === "list-keys") return undefined;
  const keyBytes = Buffer.byteLength(request.key);
  if (keyBytes === 0 || keyBytes > MAX_KEY_BYTES) {
    return failure("too_large", `a key must have 1 to ${MAX_KEY_BYTES} bytes`);
  }
  if (request.kind !== "set" || Buffer.byteLength(request.value, "base64") <= MAX_VALUE_BYTES) {
    return undefined;
  }
  return failure("too_large", `a value must have at most ${MAX_VALUE_BYTES} bytes`);
}

function failure(code: string, message: string): ServiceReply<never, ServiceError> {
  return { error: { code, message } };
}
