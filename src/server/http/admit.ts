import type { Client, OwnedSession } from "../access/client.ts";
import { accessTo, mayUse, type RouteAccess } from "../access/route-access.ts";
import { forbidden } from "./refusals.ts";

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
