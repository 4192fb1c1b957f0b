import type { IncomingMessage } from "node:http";
import { describeThrown } from "../base/thrown.ts";
import type { Principal } from "../policy/principal.ts";
import { RemoteProblem } from "../remote-protocol/problems.ts";
import type { DispatchRequest } from "../remote-protocol/shapes.ts";
import { principalOf } from "./authentication.ts";
import { RouteRefusal } from "./more-routes.ts";

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

/** Returns the problem to answer with. Only these two are meant for the client. */
export function problemOf(thrown: unknown): RemoteProblem | RouteRefusal {
  if (thrown instanceof RemoteProblem || thrown instanceof RouteRefusal) return thrown;
  const problem = new RemoteProblem("internal_error", "the executor failed unexpectedly");
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
  { code, kind, message, cause }: RemoteProblem | RouteRefusal,
  body?: DispatchRequest,
): RefusedRequest {
  const { method = "", url = "", socket } = request;
  const principal = principalOf(request);
  const { remoteAddress: address } = socket;
  return Object.freeze({
    code,
    status: kind.status,
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
