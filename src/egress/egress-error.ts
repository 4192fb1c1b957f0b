/** The closed set of causes for which a request has no response. */
export type EgressErrorCode =
  /** The URL, the method, a header or the body cannot be sent as they are. */
  | "request_invalid"
  /** The request is larger than what is left of the network budget. */
  | "request_too_large"
  /** The grant does not name the origin. */
  | "origin_denied"
  /** The host has an address that the grant does not give. */
  | "address_denied"
  | "name_not_resolved"
  | "connection_refused"
  | "unreachable"
  | "connect_timeout"
  | "certificate_invalid"
  | "tls_failed"
  /** No connection, for another reason. */
  | "connect_failed"
  /** The connection ended before the response did. */
  | "connection_lost"
  | "headers_timeout"
  | "body_timeout"
  | "headers_too_large"
  | "body_too_large"
  /** The response is larger than what is left of the network budget. */
  | "budget_exceeded"
  /** The response breaks the rules of HTTP. */
  | "response_invalid"
  /** The body is not encoded as its header says. */
  | "encoding_invalid"
  /** A redirect leads from https: to http:, or names no URL. */
  | "redirect_refused"
  | "too_many_redirects"
  /** The whole exchange took too long. */
  | "timeout"
  | "aborted"
  /** The egress was closed. */
  | "closed";

/** One connection over which a request went. */
export interface Contact {
  readonly origin: string;
  /** The address that was connected to. */
  readonly address: string;
}

/** What went over the network for one request, redirects included. */
export interface Traffic {
  /** Every connection that a request was written to, in order. */
  readonly contacted: readonly Contact[];
  /** Bytes of heads and bodies that were sent, as HTTP/1.1 would write them. */
  readonly bytesUp: number;
  /** Bytes of heads and bodies that were received, before any decompression. */
  readonly bytesDown: number;
}

/** The traffic of a request that never left. */
export const NO_TRAFFIC: Traffic = Object.freeze({ contacted: Object.freeze([]), bytesUp: 0, bytesDown: 0 });

/**
 * A request has no response. `message` is for the operator: it may name hosts and addresses, never headers or
 * bodies.
 */
export class EgressError extends Error {
  override readonly name = "EgressError";
  readonly code: EgressErrorCode;
  /** Whether a byte of the request may have been sent, to whichever host. */
  readonly sent: boolean;
  readonly traffic: Traffic;

  constructor(code: EgressErrorCode, message: string, traffic: Traffic = NO_TRAFFIC, cause?: unknown) {
    super(message, cause === undefined ? {} : { cause });
    this.code = code;
    this.traffic = traffic;
    this.sent = traffic.contacted.length > 0;
  }
}
