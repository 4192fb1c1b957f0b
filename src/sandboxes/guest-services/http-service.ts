import { isUtf8 } from "node:buffer";
import { SAFE_METHODS } from "../../base/http-syntax.ts";
import { race } from "../../base/timers.ts";
import type { Egress } from "../../egress/egress.ts";
import { type Contact, EgressError, type EgressErrorCode, type Traffic } from "../../egress/egress-error.ts";
import type { EgressLimits, EgressResponse } from "../../egress/request.ts";
import { MAX_WALL_TIME_MS } from "../../policy/grant/limits.ts";
import type { NetGrant } from "../../policy/grant/net-grant.ts";
import type { MemoryLease } from "../contract/guest-memory.ts";
import type { CallEffect } from "../contract/outcome.ts";
import type { HeaderField, HttpReply, HttpRequest, ServiceReply } from "./service-request.ts";

/** Adds up what the HTTP requests of one call sent and received. */
class NetworkUse {
  readonly #contacted: Contact[] = [];
  #bytesUp = 0;
  #bytesDown = 0;

  /** Counts the traffic of one request, with or without a response. */
  add({ contacted, bytesUp, bytesDown }: Traffic): void {
    this.#contacted.push(...contacted);
    this.#bytesUp += bytesUp;
    this.#bytesDown += bytesDown;
  }

  /** Bytes in both directions: what the limit `netBytes` bounds. */
  get bytes(): number {
    return this.#bytesUp + this.#bytesDown;
  }

  /** The traffic for the receipt; `undefined` if no request was sent. */
  get traffic(): Traffic | undefined {
    if (this.#contacted.length === 0) return undefined;
    return { contacted: this.#contacted, bytesUp: this.#bytesUp, bytesDown: this.#bytesDown };
  }
}

/** Fields that no longer apply once a body is decoded (RFC 9110, section 8.4). */
const CODING_FIELDS: readonly string[] = ["content-encoding", "content-length"];

/** How many requests of one call are sent at once, at most. */
const MAX_AT_ONCE = 6;

/** How many redirects are followed for one request, at most. */
const MAX_REDIRECTS = 5;

/** The minimum share of the network budget for a request that is sent while other requests run, in bytes. */
const MIN_SHARE = 1_024 * 1_024;

/** Bodies to send of up to this length wait for room. Larger ones are in this process already, and would fill it meanwhile. */
const MAX_WAITING_LENGTH = 16_384;

/** What a body to send takes, for each character of its text: the text, and the bytes that it is decoded to. */
const BYTES_PER_CHARACTER = 7 / 4;

/** Returns the egress that all sandboxes share, and opens it first if no request needed it before. */
export type OpenEgress = () => Promise<Egress>;

/** What one kind of guest may receive, and what its requests count as. */
export interface HttpRules {
  /** Bytes of one response's body, decompressed. */
  readonly maxBodyBytes: number;
  /** Whether a request with a safe method has no effect. */
  readonly trustsSafeMethods: boolean;
}

/** What one call may use of the network. */
export interface HttpScope extends HttpRules {
  /** Empty if the grant gives no network. */
  readonly grants: readonly NetGrant[];
  /** Bytes that may be sent and received in all, heads included. */
  readonly netBytes: number;
  /** Opens an account for the bodies of a request. */
  readonly openLease: () => MemoryLease;
}

/** A request that waits for its turn. */
interface Queued {
  /** The largest share of the network budget that it can use, in bytes. */
  readonly most: number;
  readonly send: (share: number) => void;
}

/**
 * Sends the HTTP requests of one call. Concurrent requests divide the remaining network budget between them,
 * so that together they never exceed it. The part of its share that a request does not use is available to
 * later ones.
 */
export class HttpService {
  readonly #openEgress: OpenEgress | undefined;
  readonly #scope: HttpScope;
  readonly #use = new NetworkUse();
  /** What the bodies of each request take, until its reply is delivered. */
  readonly #leases = new Map<object, MemoryLease>();
  readonly #queue: Queued[] = [];
  #running = 0;
  /** Bytes that the running requests may use. */
  #reserved = 0;
  #effect: CallEffect = "none";
  /** Running requests that may have an effect. */
  #unsafe = 0;

  constructor(openEgress: OpenEgress | undefined, scope: HttpScope) {
    this.#openEgress = openEgress;
    this.#scope = scope;
  }

  /** Bytes that may still be sent and received. */
  get leftBytes(): number {
    return Math.max(this.#scope.netBytes - this.#use.bytes, 0);
  }

  /** The effect of the requests. A request that was sent may have changed something. */
  get effect(): CallEffect {
    return this.#unsafe > 0 ? "unknown" : this.#effect;
  }

  /** The effect of the requests that have ended. */
  get settledEffect(): CallEffect {
    return this.#effect;
  }

  /** The traffic of all requests; `undefined` if no request was sent. */
  get traffic(): Traffic | undefined {
    return this.#use.traffic;
  }

  /** Counts what was sent before the call was suspended. */
  restore(traffic: Traffic): void {
    this.#use.add(traffic);
  }

  /**
   * Sends a request when its turn comes. Never rejects.
   *
   * @param leftMs The remaining wall time of the call, which includes waiting for its turn. `undefined` if it has no limit.
   */
  async answer(
    request: HttpRequest,
    leftMs: number | undefined,
    signal: AbortSignal,
  ): Promise<ServiceReply<HttpReply, EgressErrorCode>> {
    const { grants, maxBodyBytes, trustsSafeMethods } = this.#scope;
    const openEgress = this.#openEgress;
    if (grants.length === 0 || openEgress === undefined) return { error: "origin_denied" };
    const deadline = performance.now() + (leftMs ?? MAX_WALL_TIME_MS);
    const lease = this.#scope.openLease();
    this.#leases.set(request, lease);
    const length = request.body?.length ?? 0;
    const bytes = Math.ceil(length * BYTES_PER_CHARACTER);
    const mayBegin = length <= MAX_WAITING_LENGTH ? lease.wait(bytes) : Promise.resolve(lease.take(bytes));
    const begun = await race(mayBegin, { timeoutMs: leftMs ?? MAX_WALL_TIME_MS, signals: [signal] });
    if (begun !== true) {
      this.delivered(request);
      return { error: begun === false ? "request_too_large" : begun };
    }
    const body = request.body === undefined ? undefined : Buffer.from(request.body, request.encoding);
    const share = await this.#awaitTurn(maxBodyBytes + MIN_SHARE + (body?.length ?? 0));
    const isSafe = trustsSafeMethods && SAFE_METHODS.has(request.method);
    if (!isSafe) this.#unsafe++;
    let isOpen = false;
    try {
      const egress = await openEgress();
      isOpen = true;
      const limits = { ...this.#limitsOf(request, share, deadline - performance.now()), room: lease };
      const { method, url, headers, followRedirects } = request;
      const response = await egress.send({
        method,
        url,
        headers: joinFields(headers),
        body,
        grants,
        limits,
        signal,
        ...(followRedirects && { maxRedirects: MAX_REDIRECTS }),
      });
      this.#settle(response.traffic, isSafe);
      return { ok: replyOf(response, request.encoding) };
    } catch (error) {
      this.delivered(request);
      if (!(error instanceof EgressError)) {
        // Usually it could not be opened, because the sandboxes are closed. Otherwise the request may have been sent.
        if (isOpen && !isSafe) this.#effect = "unknown";
        return { error: "closed" };
      }
      this.#settle(error.traffic, isSafe);
      return { error: error.code };
    } finally {
      if (!isSafe) this.#unsafe--;
      this.#running--;
      this.#reserved -= share;
      this.#launch();
    }
  }

  /** Gives back what the bodies of a request took, whose reply the guest has. */
  delivered(request: object): void {
    this.#leases.get(request)?.close();
    this.#leases.delete(request);
  }

  /** Gives back what all bodies took. */
  end(): void {
    for (const request of [...this.#leases.keys()]) this.delivered(request);
  }

  /**
   * Waits until the request may be sent, and returns its share of the network budget. Requests that the guest makes
   * at once are all in the queue before the first one is sent, and get equal shares.
   */
  #awaitTurn(most: number): Promise<number> {
    return new Promise((send) => {
      if (this.#queue.push({ most, send }) === 1) queueMicrotask(() => this.#launch());
    });
  }

  #launch(): void {
    const left = Math.max(this.leftBytes - this.#reserved, 0);
    const affordable = Math.max(Math.floor(left / MIN_SHARE), this.#running === 0 ? 1 : 0);
    const next = this.#queue.splice(0, Math.min(MAX_AT_ONCE - this.#running, affordable));
    for (const { most, send } of next) {
      const share = Math.min(Math.floor(left / next.length), most);
      this.#running++;
      this.#reserved += share;
      send(share);
    }
  }

  #limitsOf(
    { firstByteTimeoutMs, betweenBytesTimeoutMs }: HttpRequest,
    share: number,
    timeoutMs: number,
  ): EgressLimits {
    return {
      timeoutMs: Math.max(Math.ceil(timeoutMs), 1),
      bodyBytes: Math.min(share, this.#scope.maxBodyBytes),
      netBytes: share,
      ...(firstByteTimeoutMs !== undefined && { firstByteTimeoutMs }),
      ...(betweenBytesTimeoutMs !== undefined && { betweenBytesTimeoutMs }),
    };
  }

  #settle(traffic: Traffic, isSafe: boolean): void {
    this.#use.add(traffic);
    if (!isSafe && traffic.contacted.length > 0) this.#effect = "unknown";
  }
}

/** Joins fields of one name (RFC 9110, section 5.3); cookies have a separator of their own (RFC 9113, section 8.2.3). */
function joinFields(fields: readonly HeaderField[]): Record<string, string> {
  const headers: Record<string, string> = Object.create(null);
  for (const [name, value] of fields) {
    const lower = name.toLowerCase();
    const known = headers[lower];
    headers[lower] = known === undefined ? value : `${known}${lower === "cookie" ? "; " : ", "}${value}`;
  }
  return headers;
}

function replyOf(response: EgressResponse, encoding: HttpRequest["encoding"]): HttpReply {
  const { status, statusText, url, body } = response;
  const isExpressible = encoding === "base64" || isUtf8(body);
  return {
    status,
    statusText,
    url: url.href,
    headers: responseFields(response),
    body: isExpressible ? body.toString(encoding) : null,
  };
}

/** Returns the header fields of a response as a guest sees them: names in lower case, one pair for each field. */
function responseFields({ headers, body }: EgressResponse): readonly HeaderField[] {
  const isCoded = headers["content-encoding"] !== undefined && body.length > 0;
  return Object.entries(headers).flatMap(([name, value = []]) =>
    isCoded && CODING_FIELDS.includes(name) ? [] : [value].flat().map((one): HeaderField => [name, one]),
  );
}
