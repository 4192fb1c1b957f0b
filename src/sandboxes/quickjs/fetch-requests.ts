import { isUtf8 } from "node:buffer";
import type { Egress } from "../../egress/egress.ts";
import { EgressError, type Traffic } from "../../egress/egress-error.ts";
import type { EgressResponse } from "../../egress/request.ts";
import type { JsonObject } from "../../json/value.ts";
import type { NetGrant } from "../../policy/grant/net-grant.ts";
import type { CallEffect } from "../contract/sandbox.ts";
import { NetworkUse } from "../guest-services/network-use.ts";
import { responseFields } from "../guest-services/response-fields.ts";
import { MAX_AT_ONCE, MAX_REDIRECTS, MAX_REQUESTS, MAX_TEXT_BYTES } from "./fetch-limits.ts";
import { fetchError } from "./guest-error.ts";
import type { FetchRequest, GuestResult } from "./guest-request.ts";
import type { FetchAllowance } from "./thread/external-access.ts";

/** Safe methods: they ask for no change (RFC 9110, section 9.2.1). */
const SAFE_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS", "QUERY"]);

/** The least share of the network budget with which a request is sent beside others, in bytes. */
const LEAST_SHARE = 1_024 * 1_024;

/** What waits for its turn. */
interface Queued {
  /** More than this it cannot use, in bytes. */
  readonly most: number;
  readonly send: (share: number) => void;
}

/**
 * The HTTP requests of one call. Those that are on their way at once share what is left of the network budget, so
 * that all of them together never exceed it; what a request leaves of its share is there for later ones.
 */
export class FetchRequests {
  readonly #openEgress: () => Egress;
  readonly #grants: readonly NetGrant[];
  readonly #netBytes: number;
  readonly #use = new NetworkUse();
  readonly #queue: Queued[] = [];
  #running = 0;
  /** Bytes that those on their way may use. */
  #reserved = 0;
  #count = 0;
  #effect: CallEffect = "none";
  #unsafe = 0;

  /** @param openEgress Called when a request is sent. */
  constructor(openEgress: () => Egress, grants: readonly NetGrant[], netBytes: number) {
    this.#openEgress = openEgress;
    this.#grants = grants;
    this.#netBytes = netBytes;
  }

  /** What may yet be sent. */
  get allowance(): FetchAllowance {
    return { requests: MAX_REQUESTS - this.#count, bytes: Math.max(this.#netBytes - this.#use.bytes, 0) };
  }

  /** What they may have left behind: a request that asks for a change may have changed something once it left. */
  get effect(): CallEffect {
    return this.#unsafe > 0 ? "unknown" : this.#effect;
  }

  /** What went over the network; `undefined` where nothing did. */
  get traffic(): Traffic | undefined {
    return this.#use.traffic;
  }

  /**
   * Sends a request when its turn comes: see {@link launch}. Never rejects.
   *
   * @param wallTimeMs Milliseconds from now.
   */
  async add(request: FetchRequest, wallTimeMs: number, signal: AbortSignal): Promise<GuestResult> {
    const until = performance.now() + wallTimeMs;
    this.#count++;
    const most = MAX_TEXT_BYTES + LEAST_SHARE + Buffer.byteLength(request.body ?? "");
    const share = await new Promise<number>((send) => this.#queue.push({ most, send }));
    const isSafe = SAFE_METHODS.has(request.method.toUpperCase());
    if (!isSafe) this.#unsafe++;
    try {
      const response = await this.#send(request, share, until - performance.now(), signal);
      this.#settle(response.traffic, isSafe);
      return { output: outputOf(response) };
    } catch (error) {
      if (error instanceof EgressError) this.#settle(error.traffic, isSafe);
      return { error: fetchError(error) };
    } finally {
      if (!isSafe) this.#unsafe--;
      this.#running--;
      this.#reserved -= share;
      this.launch();
    }
  }

  #send(
    { method, url, headers, body, follow }: FetchRequest,
    share: number,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<EgressResponse> {
    return this.#openEgress().send({
      ...{ method: method.toUpperCase(), url, headers: joined(headers), body, signal },
      grants: this.#grants,
      limits: {
        timeoutMs: Math.max(Math.ceil(timeoutMs), 1),
        bodyBytes: Math.min(share, MAX_TEXT_BYTES),
        netBytes: share,
      },
      ...(follow && { maxRedirects: MAX_REDIRECTS }),
    });
  }

  #settle(traffic: Traffic, isSafe: boolean): void {
    this.#use.add(traffic);
    if (!isSafe && traffic.contacted.length > 0) this.#effect = "unknown";
  }

  /** Sends as many of the requests that were added as may be on their way at once. */
  launch(): void {
    const left = Math.max(this.#netBytes - this.#use.bytes - this.#reserved, 0);
    const affordable = Math.max(Math.floor(left / LEAST_SHARE), this.#running === 0 ? 1 : 0);
    const next = this.#queue.splice(0, Math.min(MAX_AT_ONCE - this.#running, affordable));
    for (const { most, send } of next) {
      const share = Math.min(Math.floor(left / next.length), most);
      this.#running++;
      this.#reserved += share;
      send(share);
    }
  }
}

/** Several fields of a name are one (RFC 9110, section 5.3). */
function joined(headers: FetchRequest["headers"]): Record<string, string> {
  const all: Record<string, string> = Object.create(null);
  for (const [name, value] of headers) {
    const lower = name.toLowerCase();
    const known = all[lower];
    all[lower] = known === undefined ? value : `${known}, ${value}`;
  }
  return all;
}

/** A response, as the driver takes it. */
function outputOf(response: EgressResponse): JsonObject {
  const { status, url, body } = response;
  const fields = responseFields(response).map(([name, value]) => [name, value]);
  return { status, url: url.href, fields, body: isUtf8(body) ? body.toString("utf8") : null };
}
