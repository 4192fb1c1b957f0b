/** Why a request has no response: a closed set. */
export type EgressErrorCode =
  /** The URL, the method or a header is invalid. */
  | "request_invalid"
  /** The request exceeds the rest of the network budget. */
  | "request_too_large"
  /** The grant does not name the origin. */
  | "origin_denied"
  /** The host has an address that the grant does not allow. */
  | "address_denied"
  | "name_not_resolved"
  | "connection_refused"
  | "unreachable"
  | "connect_timeout"
  | "certificate_invalid"
  | "tls_failed"
  /** The connection failed for another reason. */
  | "connect_failed"
  /** The connection ended before the response was complete. */
  | "connection_lost"
  | "headers_timeout"
  | "body_timeout"
  | "headers_too_large"
  | "body_too_large"
  /** The response exceeds the rest of the network budget. */
  | "budget_exceeded"
  /** The response is not valid HTTP. */
  | "response_invalid"
  /** The body does not match its `content-encoding` header, or its coding is unsupported. */
  | "encoding_invalid"
  /** A redirect leads from https: to http:, to a URL with credentials, or has no valid location. */
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

/** The network traffic of one request, redirects included. */
export interface Traffic {
  /** Every connection that a request was written to, in order. */
  readonly contacted: readonly Contact[];
  /** Bytes of heads and bodies that were sent, as HTTP/1.1 would write them. */
  readonly bytesUp: number;
  /** Bytes that were received, with everything that HTTP and TLS add. */
  readonly bytesDown: number;
}

/** The traffic of a request that was not sent. */
export const NO_TRAFFIC: Traffic = Object.freeze({ contacted: Object.freeze([]), bytesUp: 0, bytesDown: 0 });

/**
 * A request failed without a response. `message` is for the operator: it may name hosts and addresses, but never
 * headers or bodies.
 */
export class EgressError extends Error {
  override readonly name = "EgressError";
  readonly code: EgressErrorCode;
  /** Whether a byte of the request may have been sent, to any host. */
  readonly sent: boolean;
  readonly traffic: Traffic;

  constructor(code: EgressErrorCode, message: string, traffic: Traffic = NO_TRAFFIC, cause?: unknown) {
    super(message, cause === undefined ? {} : { cause });
    this.code = code;
    this.traffic = traffic;
    this.sent = traffic.contacted.length > 0;
  }
}
