import type { EgressErrorCode } from "../../egress/egress-error.ts";
import type { ServiceError, ServiceFailure } from "../guest-services/service-request.ts";

/** Error texts for the tool's author, without addresses. */
const TEXTS: Readonly<Record<EgressErrorCode, string>> = {
  request_invalid: "the request is not valid: check its URL, method and headers",
  request_too_large:
    "the request exceeds the call's remaining network budget (netBytes), or the requests that wait have all the memory of the session (64 MiB), its principal (128 MiB) or all (256 MiB): send less at once",
  origin_denied:
    "the call may not send requests to this origin: its grant (capabilities.net) does not name it",
  address_denied:
    "the call may not send requests to this host: its address is neither public nor granted (capabilities.net)",
  name_not_resolved: "the host's name cannot be resolved",
  connection_refused: "the host refused the connection",
  unreachable: "there is no route to the host",
  connect_timeout: "the host did not accept a connection in time",
  certificate_invalid: "the host's certificate is not valid",
  tls_failed: "the TLS handshake failed",
  connect_failed: "the connection failed",
  connection_lost: "the connection was lost before the whole response arrived",
  headers_timeout: "the server did not respond in time",
  body_timeout: "the server did not respond in time",
  timeout: "the server did not respond in time",
  headers_too_large: "the response's headers are too large",
  body_too_large:
    "the response's body is larger than this request may receive: ask for less data, or send the request alone",
  budget_exceeded:
    "the response exceeds this request's share of the call's network budget (netBytes): ask for less data, or send the request alone",
  response_invalid: "the server sent an invalid HTTP response",
  encoding_invalid: "the server sent a body that does not match its content encoding",
  redirect_refused: "the server sent a redirect that is not allowed",
  too_many_redirects: "the server redirected too many times",
  aborted: "the request was cancelled",
  closed: "the request was cancelled",
};

/** Returns the error that is thrown in the guest. */
export function guestError(failure: ServiceFailure): ServiceError {
  return typeof failure === "string" ? { code: failure, message: TEXTS[failure] } : failure;
}
