import type { EgressErrorCode } from "../../../../egress/egress-error.ts";
import type { TaggedValue } from "../../abi/value.ts";

/** Maps errors to cases of `error-code` in `wasi:http/types`. A component does not learn why a request was denied. */
export const ERROR_CODES: Readonly<Record<EgressErrorCode, TaggedValue>> = {
  request_invalid: { tag: "internal-error", val: "the request is invalid" },
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
