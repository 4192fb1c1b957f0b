import { forbidden } from "../../http/refusals.ts";
import { OPERATIONS } from "../../shapes/api.ts";
import { CONSOLE, type RouteAccess } from "../../shapes/operation.ts";
import type { Client, OwnedSession } from "./client.ts";

/**
 * Who may use each route of a server of sessions, by its method and path. What a client then sees, such as which sessions of a
 * list, depends on the client: see {@link Client.inspects}.
 */
export const ROUTE_ACCESS: Readonly<Record<string, RouteAccess>> = Object.freeze(
  Object.fromEntries(
    Object.values(OPERATIONS).map(({ method, path, access }) => [`${method} ${path}`, access]),
  ),
);

/** Who may log in to the console with a token. */
export const LOGIN_ACCESS: RouteAccess = {
  roles: CONSOLE.roles,
  refusesCallers: true,
  refusal: "a caller cannot log in: use the token of an approver, a reader or an admin",
};

/** Returns who may use a route. @throws {Error} if it is not among {@link ROUTE_ACCESS}. */
export function accessTo(route: string): RouteAccess {
  const access = Object.hasOwn(ROUTE_ACCESS, route) ? ROUTE_ACCESS[route] : undefined;
  if (access === undefined) throw new Error(`nothing says who may use the route ${route}`);
  return access;
}

/** Whether a client may use a route, and what it must be to the session of the path. */
export function mayUse(
  { roles, session: relation, refusesCallers = false }: RouteAccess,
  client: Client,
  session?: OwnedSession,
): boolean {
  if (roles.length === 0) return true;
  if (refusesCallers && client.is("caller")) return false;
  if (!roles.some((role) => client.is(role))) return false;
  if (relation === undefined) return true;
  return session !== undefined && client[relation](session);
}

/**
 * Refuses a client that may not use a route.
 *
 * @param route Its method and path, such as `POST /v1/pause`, or who may use it.
 * @param session That of the path, which the client sees.
 * @throws {RequestRefusal} 403.
 */
export function admit(route: string | RouteAccess, client: Client, session?: OwnedSession): void {
  const access = typeof route === "string" ? accessTo(route) : route;
  if (!mayUse(access, client, session)) throw forbidden(access.refusal);
}
