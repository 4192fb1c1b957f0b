import { isUtf8 } from "node:buffer";
import { formatBytes } from "../../../base/units.ts";
import { EgressError, type EgressErrorCode, type Traffic } from "../../../egress/egress-error.ts";
import type { EgressResponse } from "../../../egress/request.ts";
import { lookUp, MISSING, parsePointer, UNREACHABLE } from "../../../json/pointer.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../json/value.ts";
import { ArgumentPlaceError, TemplateError } from "../../../tool/http-template.ts";
import type { HttpResponseRules } from "../../../tool/implementations/remote-implementation.ts";
import type { CallEffect, ResourceUse, SandboxOutcome } from "../../contract/outcome.ts";
import { checkOutput } from "../../contract/output.ts";
import type { Endpoint } from "./endpoint.ts";
import { redactBody, redactJson, SecretDeniedError, SecretError, type Secrets } from "./secrets.ts";

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

/** Media types that are text, in addition to `text/*`. */
const TEXT_TYPE =
  /^(?:text\/.*|application\/(?:.*\+)?(?:json|xml|yaml|javascript|ecmascript|x-yaml|x-ndjson|toml|sql))$/;

const MAX_TYPE_CHARS = 100;

/** The parts of an endpoint's call that its outcome depends on. */
export interface EndpointCall {
  readonly endpoint: Endpoint;
  readonly secrets: Secrets;
  /** When the work began, on the clock of `performance.now()`, in ms. */
  readonly startedAt: number;
  readonly outputBytes: number;
}

/** Returns the outcome of a call that has a response. */
export function responseOutcome(
  { endpoint, secrets, startedAt, outputBytes: maxBytes }: EndpointCall,
  page: EgressResponse,
): SandboxOutcome {
  const { status, body, traffic } = page;
  if (status < 200 || status > 299) {
    const effect = endpoint.isSafe ? "none" : "unknown";
    const message = statusFailure(status, redactBody(body.toString(), secrets));
    return { status: "failed", effect, used: useOf(startedAt, traffic), message };
  }
  const effect = endpoint.isSafe ? "none" : "committed";
  if (endpoint.response === "page") {
    const output = readPage(page);
    if (typeof output === "string") {
      return {
        status: "failed",
        effect,
        used: useOf(startedAt, traffic),
        message: output,
        userVisible: true,
      };
    }
    const { status: end, ...checked } = checkOutput(JSON.stringify(output), maxBytes);
    const used = useOf(startedAt, traffic, checked.outputBytes);
    return { status: end, effect, used, ...checked } as SandboxOutcome;
  }
  const sent = body.toString();
  // Decoding replaces invalid bytes with U+FFFD, so only such a text has to be validated.
  if (sent.includes("\ufffd") && !isUtf8(body)) {
    const message = "Tool returned invalid UTF-8";
    return { status: "failed", effect, used: useOf(startedAt, traffic), message, userVisible: true };
  }
  // A reader may skip a byte order mark (RFC 8259, section 8.1). Text is given as it is.
  const json = sent.startsWith("\ufeff") ? sent.slice(1) : sent;
  const text = endpoint.response.text ? sent : json || "null";
  const checked = readOutput(text, endpoint.response, maxBytes);
  const used = useOf(startedAt, traffic, checked.outputBytes);
  if (checked.status === "failed")
    return { status: "failed", effect, used, message: checked.message, userVisible: true };
  if (checked.status === "limit_exceeded") {
    return { status: "limit_exceeded", effect, used, limit: checked.limit };
  }
  return { status: "completed", effect, used, output: redactJson(checked.output, secrets) };
}

/** Reads the output in a body. */
function readOutput(
  text: string,
  { pointer, text: isText, bigNumbers }: HttpResponseRules,
  maxBytes: number,
): ReturnType<typeof checkOutput> {
  const rules = bigNumbers === undefined ? {} : { bigNumbers };
  const checked = checkOutput(isText ? JSON.stringify(text) : text, maxBytes, rules);
  if (checked.status !== "completed" || pointer === undefined) return checked;
  const part = lookUp(checked.output, parsePointer(pointer));
  if (part === MISSING || part === UNREACHABLE) {
    const { outputBytes } = checked;
    return { status: "failed", message: `Tool returned nothing at ${pointer}`, outputBytes };
  }
  return {
    status: "completed",
    output: part as JsonValue,
    outputBytes: Buffer.byteLength(JSON.stringify(part)),
  };
}

/** Returns the outcome of a call without a response. */
export function failureOutcome({ endpoint, startedAt }: EndpointCall, error: unknown): SandboxOutcome {
  if (!(error instanceof EgressError)) throw error;
  const { code, sent, traffic, message: detail } = error;
  const used = useOf(startedAt, traffic);
  const effect: CallEffect = sent && !endpoint.isSafe ? "unknown" : "none";
  const end = sent ? ({ effect, used, mayStillRun: true } as const) : { effect, used };
  switch (code) {
    case "timeout":
      return { status: "timeout", ...end, ...(!sent && { hasBegun: false }) };
    case "aborted":
    case "closed":
      return { status: "cancelled", ...end };
    case "body_too_large":
      // The server responded with success, so it did what the call asked for.
      return {
        status: "limit_exceeded",
        limit: "outputBytes",
        used,
        detail,
        effect: endpoint.isSafe ? "none" : "committed",
      };
    case "request_too_large":
    case "budget_exceeded":
      return { status: "limit_exceeded", limit: "netBytes", ...end, detail };
    case "origin_denied":
    case "address_denied":
      if (!sent) return denied("the tool may not contact its server", detail);
  }
  return { status: "failed", ...end, message: noResponseText(code), userVisible: true, detail };
}

/**
 * Returns the outcome of a call whose request could not be built.
 *
 * @throws the error itself if it has another cause.
 */
export function unsentOutcome(error: unknown, startedAt: number): SandboxOutcome {
  if (error instanceof ArgumentPlaceError) {
    const used = { wallTimeMs: performance.now() - startedAt };
    return {
      status: "failed",
      effect: "none",
      used,
      message: `Invalid arguments: ${error.message}`,
      userVisible: true,
    };
  }
  if (error instanceof SecretDeniedError) {
    return denied("the tool may not use a secret that it needs", error.message);
  }
  if (error instanceof SecretError || error instanceof TemplateError) return unavailable(error.message);
  throw error;
}

/** Returns the outcome of a call that ended while its secrets were looked up. */
export function endedBeforeSending(cause: "timeout" | "cancelled", startedAt: number): SandboxOutcome {
  return { status: cause, effect: "none", used: { wallTimeMs: performance.now() - startedAt } };
}

/** Returns the outcome of a call that cannot be started. */
export function unavailable(detail: string): SandboxOutcome {
  return { status: "unavailable", effect: "none", used: { wallTimeMs: 0 }, detail };
}

/** The outcome of a call that its grant does not allow. */
function denied(what: string, detail: string): SandboxOutcome {
  return {
    status: "refused",
    reason: "permission_denied",
    effect: "none",
    message: `Permission denied: ${what}`,
    used: { wallTimeMs: 0 },
    detail,
  };
}

function useOf(
  startedAt: number,
  { contacted, bytesUp, bytesDown }: Traffic,
  outputBytes?: number,
): ResourceUse {
  const wallTimeMs = performance.now() - startedAt;
  const attempts = contacted.length;
  Object.freeze(contacted);
  return outputBytes === undefined
    ? { wallTimeMs, contacted, bytesUp, bytesDown, attempts }
    : { wallTimeMs, outputBytes, contacted, bytesUp, bytesDown, attempts };
}

/** Returns a response as an output; or, if it is not text, a message that says so. */
function readPage({ status, headers, body, url }: EgressResponse): JsonObject | string {
  const contentType = String(headers["content-type"] ?? "");
  const [type = ""] = contentType.toLowerCase().split(";", 1);
  const page = { url: url.href, status, contentType };
  if (body.length === 0) return { ...page, text: "" };
  const shown = type.trim().slice(0, MAX_TYPE_CHARS) || "of an unknown type";
  if (!TEXT_TYPE.test(type.trim())) return `The response is ${shown}, not text: ${formatBytes(body.length)}`;
  const decoder = decoderOf(contentType);
  if (decoder === undefined)
    return `The response is text in an unknown encoding: ${formatBytes(body.length)}`;
  return { ...page, text: decoder.decode(body) };
}

/** Bytes that are invalid in the encoding become U+FFFD. */
function decoderOf(contentType: string): TextDecoder | undefined {
  const [, charset = "utf-8"] = /;\s*charset="?([\w.:-]{1,40})/i.exec(contentType) ?? [];
  try {
    return new TextDecoder(charset);
  } catch {
    return undefined;
  }
}

/** Returns the text for the model of a request that has no response. */
export function noResponseText(code: EgressErrorCode): string {
  return TEXTS[code];
}

/** Returns the text for an error response, with the server's message: `HTTP 500: connection refused`. */
function statusFailure(status: number, body: string): string {
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
