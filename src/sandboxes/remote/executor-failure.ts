import type { EgressError, EgressErrorCode } from "../../egress/egress-error.ts";

/** Why no byte was sent, for the model: no host, no address. */
const NOT_SENT: { readonly [Code in EgressErrorCode]?: string } = {
  name_not_resolved: "its name cannot be resolved",
  connection_refused: "connection refused",
  unreachable: "no route to it",
  connect_timeout: "no connection in time",
  certificate_invalid: "its certificate is not valid",
  tls_failed: "TLS failed",
};

/** What went wrong once the request was sent. */
const SENT: { readonly [Code in EgressErrorCode]?: string } = {
  headers_too_large: "The tool's executor sent headers without end",
  body_too_large: "The tool's executor sent more than it may",
  response_invalid: "The tool's executor sent no valid answer",
};

/** Why an executor gave no answer, in words for the model. */
export function noReplyText({ code, sent }: EgressError): string {
  if (sent) return SENT[code] ?? "The connection to the tool's executor broke before its answer came";
  return `Cannot reach the tool's executor: ${NOT_SENT[code] ?? "no connection"}`;
}

/** What an answer that is none of an executor means: whatever stands between may have given it. */
export function foreignAnswerText(status: number): string {
  const why = status >= 300 && status < 400 ? ": redirects are not followed" : " without a result";
  return `The tool's executor answered HTTP ${status}${why}`;
}
