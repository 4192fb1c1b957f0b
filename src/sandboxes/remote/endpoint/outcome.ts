import { isUtf8 } from "node:buffer";
import { EgressError, type Traffic } from "../../../egress/egress-error.ts";
import type { EgressResponse } from "../../../egress/request.ts";
import { ArgumentPlaceError, TemplateError } from "../../../http-template/url-template.ts";
import { lookUp, MISSING, parsePointer, UNREACHABLE } from "../../../json/pointer.ts";
import type { JsonValue } from "../../../json/value.ts";
import type { HttpResponseRules } from "../../../tool/implementations/remote-implementation.ts";
import type { CallEffect, ResourceUse, SandboxOutcome } from "../../contract/outcome.ts";
import { checkOutput } from "../../contract/output.ts";
import type { Endpoint } from "./endpoint.ts";
import { noResponseText, statusFailure } from "./failure.ts";
import { readPage } from "./page.ts";
import { redactBody, redactJson, SecretDeniedError, SecretError, type Secrets } from "./secrets.ts";

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
        ...{ status: "limit_exceeded", limit: "outputBytes", used, detail },
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
    ...{ status: "refused", reason: "permission_denied", effect: "none" },
    ...{ message: `Permission denied: ${what}`, used: { wallTimeMs: 0 }, detail },
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
