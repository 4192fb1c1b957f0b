import type { EgressErrorCode } from "../../../egress/egress-error.ts";
import { isJsonObject } from "../../../json/value.ts";

/** What the model reads if there is no response. The texts name no host and no address. */
const TEXTS: Readonly<Record<EgressErrorCode, string>> = {
  request_invalid: "The tool's request is not valid",
  request_too_large: "The tool's request is too large",
  origin_denied: "The tool's server redirected to a location that the tool may not access",
  address_denied: "The tool's server redirected to a location that the tool may not access",
  redirect_refused: "The tool's server redirected to a location that the tool may not access",
  too_many_redirects: "The tool's server redirected too many times",
  name_not_resolved: "Cannot reach the tool's server: its name cannot be resolved",
  connection_refused: "Cannot reach the tool's server: connection refused",
  unreachable: "Cannot reach the tool's server: no route to host",
  connect_timeout: "Cannot reach the tool's server: the connection timed out",
  certificate_invalid: "Cannot reach the tool's server: its certificate is not valid",
  tls_failed: "Cannot reach the tool's server: the TLS handshake failed",
  connect_failed: "Cannot reach the tool's server: the connection failed",
  connection_lost: "The connection to the tool's server was lost",
  headers_timeout: "The tool's server did not respond in time",
  body_timeout: "The tool's server did not respond in time",
  timeout: "The tool's server did not respond in time",
  headers_too_large: "The tool's server sent headers that are too large",
  body_too_large: "The tool's server sent a response that is too large",
  budget_exceeded: "The tool's server sent a response that is too large",
  response_invalid: "The tool's server sent an invalid HTTP response",
  encoding_invalid: "The tool's server sent a body that does not match its content encoding",
  aborted: "The request to the tool's server was aborted",
  closed: "The request to the tool's server was aborted",
};

/** Returns the text for the model of a request that has no response. */
export function noResponseText(code: EgressErrorCode): string {
  return TEXTS[code];
}

/** Returns the text for an error response, with the server's message: `HTTP 500: connection refused`. */
export function statusFailure(status: number, body: string): string {
  if (status >= 300 && status < 400 && status !== 304) return `HTTP ${status}: redirects are not followed`;
  const words = errorWords(body).trim();
  return words === "" ? `HTTP ${status}` : `HTTP ${status}: ${words}`;
}

/** Finds the message in a body: in `error`, `message`, `detail` or their `message`; otherwise the whole text. */
function errorWords(body: string): string {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return body;
  }
  for (const key of ["error", "message", "detail"]) {
    if (!isJsonObject(value)) break;
    const member: unknown = value[key];
    if (typeof member === "string") return member;
    if (isJsonObject(member) && typeof member["message"] === "string") return member["message"];
  }
  return typeof value === "string" ? value : body;
}
