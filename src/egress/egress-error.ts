/** Why a request has no response: a closed set. */
export type EgressErrorCode =
  /** The URL, the method or a header is invalid. */
  | "request_invalid"
  /** The request exceeds what is left of the network budget. */
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
  /** The response exceeds what is left of the network budget. */
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

/** Maps error codes of Node.js and undici that have one meaning, before and after the request was sent. */
const CODES: Readonly<Record<string, EgressErrorCode>> = {
  ECONNREFUSED: "connection_refused",
  EHOSTUNREACH: "unreachable",
  ENETUNREACH: "unreachable",
  EADDRNOTAVAIL: "unreachable",
  UND_ERR_CONNECT_TIMEOUT: "connect_timeout",
  UND_ERR_HEADERS_TIMEOUT: "headers_timeout",
  UND_ERR_BODY_TIMEOUT: "body_timeout",
  UND_ERR_HEADERS_OVERFLOW: "headers_too_large",
  UND_ERR_INVALID_ARG: "request_invalid",
  UND_ERR_NOT_SUPPORTED: "request_invalid",
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: "response_invalid",
  UND_ERR_DESTROYED: "closed",
  UND_ERR_CLOSED: "closed",
};

/** Error codes of OpenSSL and Node.js for untrusted certificates. */
const CERTIFICATE = /CERT|SIGNATURE|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|CRL/;

const TLS = /^(?:ERR_SSL|ERR_TLS|EPROTO)/;

/** Converts the error of a request to an {@link EgressError}. */
export function egressErrorOf(error: unknown, traffic: Traffic): EgressError {
  if (error instanceof EgressError) return new EgressError(error.code, error.message, traffic, error.cause);
  // undici's error is not the cause: it contains bytes that the peer sent, which must not be logged.
  if (error instanceof Error && error.name === "HTTPParserError") {
    return new EgressError("response_invalid", error.message, traffic);
  }
  const isSent = traffic.contacted.length > 0;
  return new EgressError(codeOf(systemCode(error), isSent), messageOf(error), traffic, error);
}

function codeOf(code: string, isSent: boolean): EgressErrorCode {
  const known = CODES[code];
  if (known !== undefined) return known;
  if (isSent) return "connection_lost";
  if (code === "ETIMEDOUT") return "connect_timeout";
  if (CERTIFICATE.test(code)) return "certificate_invalid";
  return TLS.test(code) ? "tls_failed" : "connect_failed";
}

/** If several addresses were tried, the failure of the first one counts. */
function systemCode(error: unknown): string {
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  const code: unknown = first instanceof Error && "code" in first ? first.code : undefined;
  return typeof code === "string" ? code : "";
}

/** Returns the message of a failed request; of each address, if several were tried. */
export function messageOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(String).join("; ");
  return error instanceof Error ? error.message : String(error);
}
