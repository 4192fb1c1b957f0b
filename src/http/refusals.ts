import type { IncomingMessage, ServerResponse } from "node:http";
import { describeThrown } from "../base/thrown.ts";
import type { Principal } from "../policy/principal.ts";
import { type RefusalParts, RequestRefusal, remoteProblem } from "../remote-protocol/problems.ts";
import type { DispatchRequest } from "../remote-protocol/shapes.ts";
import { principalOf } from "./authentication.ts";

/** Seconds after which a client may retry a request that the server had no capacity for. */
const RETRY_AFTER_S = "1";

/** Bytes of an unread body to drain to keep the connection alive. */
const MAX_DROPPED_BYTES = 65_536;

/** A request that an executor answered with a problem in place of an execution. */
export interface RefusedRequest {
  /** A `ProblemCode`, or a code of the sessions. */
  readonly code: string;
  /** The status of the response. */
  readonly status: number;
  /** What the client reads. */
  readonly message: string;
  readonly method: string;
  /** The path, as the client sent it. The query is left out: some clients send their tokens there. */
  readonly path: string;
  /** The client's address; absent on a unix socket. */
  readonly address?: string;
  /** Who asks; absent unless that was authenticated. */
  readonly principal?: Principal;
  /** The call that the client asks for; absent if its body was not read. */
  readonly call?: RefusedCall;
  /** With `internal_error`, the stack of what was thrown; with `store_failed`, what the store says. */
  readonly detail?: string;
}

/** The call of a refused request. */
export interface RefusedCall {
  readonly callId: string;
  readonly sessionId: string;
  readonly toolName: string;
}

/** Returns the refusal to answer with: nothing else that is thrown is meant for the client. */
export function refusalOf(thrown: unknown): RequestRefusal {
  if (thrown instanceof RequestRefusal) return thrown;
  const problem = remoteProblem("internal_error", "the executor failed unexpectedly");
  problem.cause = thrown;
  return problem;
}

/**
 * Describes a refused request for the operator.
 *
 * @param body Its body. Default: it was not read.
 */
export function refusedRequest(
  request: IncomingMessage,
  { code, status, message, cause }: RequestRefusal,
  body?: DispatchRequest,
): RefusedRequest {
  const { method = "", url = "", socket } = request;
  const principal = principalOf(request);
  const { remoteAddress: address } = socket;
  return Object.freeze({
    code,
    status,
    message,
    method,
    path: url.split("?", 1)[0] ?? "",
    ...(address !== undefined && { address }),
    ...(principal && { principal }),
    ...(body && { call: callOf(body) }),
    ...(cause !== undefined && { detail: describeThrown(cause).detail }),
  });
}

function callOf({ session, call }: DispatchRequest): RefusedCall {
  return Object.freeze({ callId: call.id, sessionId: session, toolName: call.name });
}

/**
 * Responds with a refusal. The connection is kept alive if the unread part of the request is small.
 */
export function refuse(request: IncomingMessage, response: ServerResponse, refusal: RequestRefusal): void {
  const { "content-length": length = "0", "transfer-encoding": encoding } = request.headers;
  const isSmall = encoding === undefined && Number(length) <= MAX_DROPPED_BYTES;
  const close = request.complete || isSmall ? {} : { connection: "close" };
  const { status, text } = refusal;
  response.writeHead(status, { ...refusal.headers, ...close, "content-length": Buffer.byteLength(text) });
  response.end(text);
}

/** A refusal of sessions. If the server had no capacity, the client may retry. */
function routeRefusal(status: number, code: string, message: string, parts?: RefusalParts): RequestRefusal {
  if (status !== 429 && status !== 503) return new RequestRefusal(status, code, message, parts);
  return new RequestRefusal(status, code, message, { ...parts, headers: { "retry-after": RETRY_AFTER_S } });
}

/** For what does not exist, and for what the client must not know about. */
export function notFound(): RequestRefusal {
  return routeRefusal(404, "not_found", "there is nothing at this path, or it is not yours");
}

export function forbidden(message: string): RequestRefusal {
  return routeRefusal(403, "forbidden", message);
}

export function badRequest(message: string): RequestRefusal {
  return routeRefusal(400, "bad_request", message);
}

export function overloaded(message: string): RequestRefusal {
  return routeRefusal(429, "overloaded", message);
}

export function conflict(
  code: "already_answered" | "message_conflict" | "closed" | "turn_full" | "changes_conflict",
  message: string,
  members?: object,
): RequestRefusal {
  return routeRefusal(409, code, message, { ...(members && { members }) });
}

export function gone(): RequestRefusal {
  return routeRefusal(410, "gone", "the confirmation timed out or was cancelled");
}

export function forgotten(): RequestRefusal {
  return routeRefusal(410, "forgotten", "the turn ended, and its messages and results are no longer kept");
}

export function unprocessable(code: "other_digest" | "invalid_answer", message: string): RequestRefusal {
  return routeRefusal(422, code, message);
}

export function draining(): RequestRefusal {
  return routeRefusal(503, "draining", "the server is shutting down");
}

export function unauthenticated(message: string): RequestRefusal {
  return remoteProblem("unauthenticated", message);
}

export function revoked(): RequestRefusal {
  return remoteProblem("unauthenticated", "the credential was revoked, or its roles have changed");
}

export function paused(): RequestRefusal {
  return routeRefusal(503, "paused", "the server is paused: retry when an admin has resumed it");
}

export function invalidPolicy(problems: readonly object[]): RequestRefusal {
  return routeRefusal(422, "invalid_policy", "the policy has errors, and was not replaced", {
    members: { problems },
  });
}

export function invalidTrial(problems: readonly object[]): RequestRefusal {
  return routeRefusal(422, "invalid_policy", "the policy has errors", { members: { problems } });
}

export function notRepeatable(message: string): RequestRefusal {
  return routeRefusal(422, "not_repeatable", message);
}

/** @param cause Why, for the operator. */
export function unavailable(message: string, cause: unknown): RequestRefusal {
  const refusal = routeRefusal(503, "unavailable", message);
  refusal.cause = cause;
  return refusal;
}

/** @param cause What the store threw, for the operator. */
export function storeFailed(cause: Error): RequestRefusal {
  const refusal = routeRefusal(503, "store_failed", "the server's store failed, so nothing ran: retry later");
  refusal.cause = cause;
  return refusal;
}
