import { EgressError, type EgressErrorCode } from "../../egress/egress-error.ts";
import type { GuestError } from "./guest-request.ts";

/** Error texts for the tool's author, without addresses. */
const TEXTS: Readonly<Record<EgressErrorCode, string>> = {
  request_invalid: "the request cannot be sent as it is: look at its URL, method and headers",
  request_too_large: "the request is larger than what the call may still send and receive (netBytes)",
  origin_denied: "the call may not send requests to this origin: its grant ('net') does not name it",
  address_denied:
    "the call may not send requests to this host: its address is not public, nor granted ('net')",
  name_not_resolved: "the host's name cannot be resolved",
  connection_refused: "the host refused the connection",
  unreachable: "there is no route to the host",
  connect_timeout: "the host did not accept a connection in time",
  certificate_invalid: "the host's certificate is not valid",
  tls_failed: "the host does not speak TLS as it should",
  connect_failed: "the connection failed",
  connection_lost: "the connection broke before the response was whole",
  headers_timeout: "the server did not answer in time",
  body_timeout: "the server did not answer in time",
  timeout: "the server did not answer in time",
  headers_too_large: "the response has more headers than is allowed",
  body_too_large:
    "the response's body is larger than what the request may receive: ask for less, or by itself",
  budget_exceeded:
    "the response is larger than the request's share of what the call may still receive (netBytes): ask for less, or by itself",
  response_invalid: "the server sent no valid HTTP response",
  encoding_invalid: "the server sent a body that is not encoded as it says",
  redirect_refused: "the server redirects to where no redirect may lead",
  too_many_redirects: "the server redirects too often",
  aborted: "the request was cancelled",
  closed: "the request was cancelled",
};

/** Tells a guest why its request has no response. */
export function fetchError(error: unknown): GuestError {
  // Nothing else is thrown where requests are sent, apart from a sandbox that is closed.
  const code = error instanceof EgressError ? error.code : "closed";
  return { code, message: TEXTS[code] };
}
