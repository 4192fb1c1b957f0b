import { errors } from "undici";
import { EgressError, type EgressErrorCode, type Traffic } from "./egress-error.ts";

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
  // Not retained as the cause: it contains bytes that the peer sent, which must not be logged.
  if (error instanceof errors.HTTPParserError) {
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
