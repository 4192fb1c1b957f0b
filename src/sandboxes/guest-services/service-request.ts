import type { EgressErrorCode } from "../../egress/egress-error.ts";
import { type JsonBounds, locateRefusal } from "../../json/refusal.ts";
import type { JsonValue } from "../../json/value.ts";

/**
 * A request of a guest for something that only the dispatching process can do. Requests and replies are plain data
 * that JSON can express.
 */
export type ServiceRequest = ToolRequest | KeyValueRequest | HttpRequest;

/** A request of a guest whose thread measures the time, as it is sent to the process. */
export interface TimedRequest {
  readonly request: ServiceRequest;
  /** The remaining wall time of the call, in ms; `undefined` if it has no limit. */
  readonly leftMs: number | undefined;
}

/** Calls another tool. */
export interface ToolRequest {
  readonly kind: "call-tool";
  readonly name: string;
  /** The arguments as JSON text. */
  readonly input: string;
  /** The number of the call among those of its caller, from 1. Default: the next one. */
  readonly number?: number;
}

/** Uses a key-value store. Values are in base64. */
export type KeyValueRequest = { readonly store: string } & (
  | { readonly kind: "get" | "delete"; readonly key: string }
  | { readonly kind: "set"; readonly key: string; readonly value: string }
  | { readonly kind: "list-keys"; readonly after: string | undefined }
);

/** Sends an HTTP request and waits for the whole response. */
export interface HttpRequest {
  readonly kind: "http";
  readonly method: string;
  readonly url: string;
  readonly headers: readonly HeaderField[];
  /** Emptied once the request has failed. */
  body: string | undefined;
  /** The encoding of both bodies, of the request and of the response. */
  readonly encoding: "utf8" | "base64";
  /** Whether redirects are followed. If not, a redirect is a response like any other. */
  readonly followRedirects: boolean;
  /** Milliseconds to the first byte of the response. Default: as long as the request may take. */
  readonly firstByteTimeoutMs?: number | undefined;
  /** Milliseconds between two chunks of the response's body. Default: as above. */
  readonly betweenBytesTimeoutMs?: number | undefined;
}

/** One header field. */
export type HeaderField = readonly [name: string, value: string];

/** A response, whole and decoded. */
export interface HttpReply<Body = string | null> {
  readonly status: number;
  readonly statusText: string;
  /** The URL of the response, after redirects. */
  readonly url: string;
  /** Names are in lower case. */
  readonly headers: readonly HeaderField[];
  /** `null` if the guest asked for UTF-8 and the body is not valid UTF-8. */
  readonly body: Body;
}

/** The reply to a request: its result, or a failure. */
export type ServiceReply<Value = unknown, Failure = ServiceFailure> =
  | { readonly ok: Value }
  | { readonly error: Failure };

/** Why a request failed. An HTTP request fails with a code only: the sandbox translates it for its kind of guest. */
export type ServiceFailure = ServiceError | EgressErrorCode;

/** Why a call of another tool or the use of a key-value store failed. */
export interface ServiceError {
  /** In snake case: a code of the engine, or `too_large`, `full` or `unavailable`. */
  readonly code: string;
  readonly message: string;
}

/** The output of a tool that a guest called. */
export type ToolReply = ServiceReply<JsonValue, ServiceError>;

/** The longest name of a tool that is looked up, in UTF-16 code units. */
const MAX_NAME_LENGTH = 256;

/**
 * Stricter than the engine's bounds for arguments of a model, which cannot make as many calls. Objects and different
 * names take the process the longest.
 */
const INPUT_BOUNDS: JsonBounds = Object.freeze({
  length: 2 * 1_024 * 1_024,
  values: 50_000,
  members: 20_000,
  names: 5_000,
});

/** Inputs up to this length are too small to take the engine long. */
const MAX_UNSCANNED_LENGTH = 32 * 1_024;

/**
 * Returns why a nested call is refused before the process sees it; `undefined` if it is not. Called in the guest's
 * thread.
 *
 * @param input The arguments as JSON text.
 */
export function nestedCallProblem(name: string, input: string): ServiceError | undefined {
  if (name.length > MAX_NAME_LENGTH) {
    return {
      code: "not_found",
      message: `there is no such tool: its name is longer than ${MAX_NAME_LENGTH} characters`,
    };
  }
  if (input.length <= MAX_UNSCANNED_LENGTH) return undefined;
  const refusal = locateRefusal(input, INPUT_BOUNDS, "structure");
  if (refusal === undefined) return undefined;
  const { reason, position } = refusal;
  return {
    code: "validation_error",
    message: `the arguments are refused: ${reason} at position ${position}`,
  };
}
