import type { Egress } from "../../egress/egress.ts";
import { EgressError, type EgressErrorCode, type Traffic } from "../../egress/egress-error.ts";
import type { NetGrant } from "../../policy/grant/net-grant.ts";
import type { CallEffect } from "../contract/sandbox.ts";
import type { TaggedValue } from "../wasm/abi/value.ts";
import { NetworkUse } from "./network-use.ts";
import { responseFields } from "./response-fields.ts";
import type { GuestReply, HttpReply, HttpRequest } from "./service-request.ts";

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
  readonly #use = new NetworkUse();
  #isSending = false;

  /** @param openEgress Called when a request is sent. */
  constructor(openEgress: () => Egress, scope: HttpScope) {
    this.#openEgress = openEgress;
    this.#scope = scope;
  }

  /** Every request that left may have changed something. */
  get effect(): CallEffect {
    return this.#isSending || this.traffic !== undefined ? "unknown" : "none";
  }

  /** What went over the network; `undefined` where nothing did. */
  get traffic(): Traffic | undefined {
    return this.#use.traffic;
  }

  /** Redirects are responses like others: whoever follows one asks again. */
  async answer(request: HttpRequest, signal: AbortSignal): Promise<GuestReply<HttpReply, TaggedValue>> {
    const { method, url, headers, body, leftMs, firstByteTimeoutMs, betweenBytesTimeoutMs } = request;
    const { grants, netBytes, wallTimeMs } = this.#scope;
    if (grants.length === 0) return { error: { tag: "HTTP-request-denied" } };
    const leftBytes = netBytes - this.#use.bytes;
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
      this.#use.add(response.traffic);
      const { status, body: received } = response;
      return { ok: { status, headers: responseFields(response), body: received.toString("base64") } };
    } catch (error) {
      if (!(error instanceof EgressError)) throw error;
      this.#use.add(error.traffic);
      return { error: ERRORS[error.code] };
    } finally {
      this.#isSending = false;
    }
  }
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
