import type { Egress } from "../../../egress/egress.ts";
import {
  type Contact,
  EgressError,
  type EgressErrorCode,
  type Traffic,
} from "../../../egress/egress-error.ts";
import type { EgressResponse, ResponseHeaders } from "../../../egress/request.ts";
import type { NetGrant } from "../../../policy/net-grant.ts";
import type { Effect } from "../../sandbox.ts";
import type { TaggedValue } from "../abi/value.ts";
import type { GuestReply, HttpReply, HttpRequest } from "../host/guest-request.ts";

/** What a call may use of the network. */
export interface HttpScope {
  /** None, where nothing was granted. */
  readonly grants: readonly NetGrant[];
  /** Bytes that may be sent and received, heads included. */
  readonly netBytes: number;
  readonly wallTimeMs: number;
}

/** The requests of one call, one after the other. */
export class HttpService {
  readonly #openEgress: () => Egress;
  readonly #scope: HttpScope;
  readonly #contacted: Contact[] = [];
  #bytesUp = 0;
  #bytesDown = 0;
  #isSending = false;

  /** @param openEgress Called when a request is sent. */
  constructor(openEgress: () => Egress, scope: HttpScope) {
    this.#openEgress = openEgress;
    this.#scope = scope;
  }

  /** Every request that left may have changed something. */
  get effect(): Effect {
    return this.#isSending || this.#contacted.length > 0 ? "unknown" : "none";
  }

  /** What went over the network; `undefined` where nothing did. */
  get traffic(): Traffic | undefined {
    if (this.#contacted.length === 0) return undefined;
    return { contacted: this.#contacted, bytesUp: this.#bytesUp, bytesDown: this.#bytesDown };
  }

  /** Redirects are responses like others: whoever follows one asks again. */
  async answer(request: HttpRequest, signal: AbortSignal): Promise<GuestReply<HttpReply, TaggedValue>> {
    const { method, url, headers, body, leftMs, firstByteTimeoutMs, betweenBytesTimeoutMs } = request;
    const { grants, netBytes, wallTimeMs } = this.#scope;
    if (grants.length === 0) return { error: { tag: "HTTP-request-denied" } };
    const leftBytes = netBytes - this.#bytesUp - this.#bytesDown;
    this.#isSending = true;
    try {
      const response = await this.#openEgress().send({
        ...{ method, url, headers, grants, signal },
        ...(body !== undefined && { body: Buffer.from(body, "base64") }),
        limits: {
          timeoutMs: Math.ceil(Math.min(leftMs ?? wallTimeMs, wallTimeMs)),
          bodyBytes: leftBytes,
          netBytes: leftBytes,
          ...(firstByteTimeoutMs !== undefined && { firstByteTimeoutMs }),
          ...(betweenBytesTimeoutMs !== undefined && { betweenBytesTimeoutMs }),
        },
      });
      this.#count(response.traffic);
      return { ok: replyOf(response) };
    } catch (error) {
      if (!(error instanceof EgressError)) throw error;
      this.#count(error.traffic);
      return { error: ERRORS[error.code] };
    } finally {
      this.#isSending = false;
    }
  }

  #count({ contacted, bytesUp, bytesDown }: Traffic): void {
    this.#contacted.push(...contacted);
    this.#bytesUp += bytesUp;
    this.#bytesDown += bytesDown;
  }
}

/** What no longer fits once a body is decoded (RFC 9110, section 8.4). */
const OF_THE_CODING: readonly string[] = ["content-encoding", "content-length"];

function replyOf({ status, headers, body }: EgressResponse): HttpReply {
  const isCoded = headers["content-encoding"] !== undefined && body.length > 0;
  return { status, headers: fieldsOf(headers, isCoded ? OF_THE_CODING : []), body: body.toString("base64") };
}

function fieldsOf(headers: ResponseHeaders, without: readonly string[]): HttpReply["headers"] {
  return Object.entries(headers).flatMap(([name, value = []]) =>
    without.includes(name) ? [] : [value].flat().map((one): [string, string] => [name, one]),
  );
}

/** The cases of `error-code` in `wasi:http/types`. Why a request is denied is not for the component. */
const ERRORS: Readonly<Record<EgressErrorCode, TaggedValue>> = {
  request_invalid: { tag: "internal-error", val: "the request cannot be sent as it is" },
  request_too_large: { tag: "HTTP-request-body-size" },
  origin_denied: { tag: "HTTP-request-denied" },
  address_denied: { tag: "destination-IP-prohibited" },
  name_not_resolved: { tag: "DNS-error", val: {} },
  connection_refused: { tag: "connection-refused" },
  unreachable: { tag: "destination-IP-unroutable" },
  connect_timeout: { tag: "connection-timeout" },
  certificate_invalid: { tag: "TLS-certificate-error" },
  tls_failed: { tag: "TLS-protocol-error" },
  connect_failed: { tag: "destination-unavailable" },
  connection_lost: { tag: "connection-terminated" },
  headers_timeout: { tag: "connection-read-timeout" },
  body_timeout: { tag: "connection-read-timeout" },
  headers_too_large: { tag: "HTTP-response-header-section-size" },
  body_too_large: { tag: "HTTP-response-body-size" },
  budget_exceeded: { tag: "HTTP-response-body-size" },
  response_invalid: { tag: "HTTP-protocol-error" },
  encoding_invalid: { tag: "HTTP-response-content-coding" },
  redirect_refused: { tag: "HTTP-protocol-error" },
  too_many_redirects: { tag: "loop-detected" },
  timeout: { tag: "HTTP-response-timeout" },
  aborted: { tag: "connection-terminated" },
  closed: { tag: "connection-terminated" },
};
