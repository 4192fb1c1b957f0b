import { RouteRefusal } from "../../http/more-routes.ts";
import { RemoteProblem } from "../../remote-protocol/problems.ts";
import type { SessionStoreError } from "../../sessions/session-errors.ts";
import type { RouteAccess } from "../../shapes/operation.ts";
import type { Client, OwnedSession } from "../access/client.ts";
import { accessTo, mayUse } from "../access/route-access.ts";

/** For what does not exist, and for what the client must not know about. */
export function notFound(): RouteRefusal {
  return new RouteRefusal(404, "not_found", "there is nothing at this path, or it is not yours");
}

export function forbidden(message: string): RouteRefusal {
  return new RouteRefusal(403, "forbidden", message);
}

export function badRequest(message: string): RouteRefusal {
  return new RouteRefusal(400, "bad_request", message);
}

export function overloaded(message: string): RouteRefusal {
  return new RouteRefusal(429, "overloaded", message);
}

export function conflict(
  code: "already_answered" | "message_conflict" | "closed" | "turn_full" | "changes_conflict",
  message: string,
  members?: object,
): RouteRefusal {
  return new RouteRefusal(409, code, message, { ...members });
}

export function gone(): RouteRefusal {
  return new RouteRefusal(410, "gone", "the confirmation timed out or was cancelled");
}

export function forgotten(): RouteRefusal {
  return new RouteRefusal(
    410,
    "forgotten",
    "the turn ended, and its messages and results are no longer kept",
  );
}

export function unprocessable(code: "other_digest" | "invalid_answer", message: string): RouteRefusal {
  return new RouteRefusal(422, code, message);
}

export function draining(): RouteRefusal {
  return new RouteRefusal(503, "draining", "the server is shutting down");
}

export function unauthenticated(message: string): RemoteProblem {
  return new RemoteProblem("unauthenticated", message);
}

export function revoked(): RemoteProblem {
  return new RemoteProblem("unauthenticated", "the credential was revoked, or its roles have changed");
}

export function paused(): RouteRefusal {
  return new RouteRefusal(503, "paused", "the server is paused: retry when an admin has resumed it");
}

export function invalidPolicy(problems: readonly object[]): RouteRefusal {
  return new RouteRefusal(422, "invalid_policy", "the policy has errors, and was not replaced", { problems });
}

export function invalidTrial(problems: readonly object[]): RouteRefusal {
  return new RouteRefusal(422, "invalid_policy", "the policy has errors", { problems });
}

export function notRepeatable(message: string): RouteRefusal {
  return new RouteRefusal(422, "not_repeatable", message);
}

/** @param cause Why, for the operator. */
export function unavailable(message: string, cause: unknown): RouteRefusal {
  const refusal = new RouteRefusal(503, "unavailable", message);
  refusal.cause = cause;
  return refusal;
}

/** @param cause What the store threw, for the operator. */
export function storeFailed(cause: SessionStoreError): RouteRefusal {
  const refusal = new RouteRefusal(
    503,
    "store_failed",
    "the server's store failed, so nothing ran: retry later",
  );
  refusal.cause = cause;
  return refusal;
}

/**
 * Refuses a client that may not use a route.
 *
 * @param route Its method and path, such as `POST /v1/pause`, or who may use it.
 * @param session That of the path, which the client sees.
 * @throws {RouteRefusal} 403.
 */
export function admit(route: string | RouteAccess, client: Client, session?: OwnedSession): void {
  const access = typeof route === "string" ? accessTo(route) : route;
  if (!mayUse(access, client, session)) throw forbidden(access.refusal);
}
