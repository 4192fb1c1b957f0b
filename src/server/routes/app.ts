import { Hono, type MiddlewareHandler } from "hono";
import type { RouteAccess } from "../../shapes/operation.ts";
import { accessTo, admit } from "../access/route-access.ts";
import type { App, AppBindings } from "../exchange.ts";
import type { SessionService } from "../service.ts";
import { adminRoutes, journalTrialRoutes } from "./admin.ts";
import { callRoutes } from "./calls.ts";
import { changeRoutes } from "./changes.ts";
import { answerLinkRoutes, approvalRoutes, confirmationRoutes, programRoutes } from "./confirmations.ts";
import { consoleRoutes } from "./console.ts";
import { journalRoutes, overviewRoutes } from "./journal.ts";
import { messageRoutes } from "./messages.ts";
import { eventRoutes, sessionRoutes } from "./sessions.ts";
import { toolRoutes } from "./tools.ts";
import { turnRoutes } from "./turns.ts";

const ROUTES = [
  sessionRoutes,
  messageRoutes,
  turnRoutes,
  eventRoutes,
  confirmationRoutes,
  approvalRoutes,
  changeRoutes,
  adminRoutes,
  programRoutes,
  toolRoutes,
  overviewRoutes,
  journalRoutes,
  journalTrialRoutes,
  consoleRoutes,
  callRoutes,
  answerLinkRoutes,
];

/** Returns what answers each operation of sessions, by its method and path. */
export function sessionHandlers(service: SessionService): App["routes"] {
  const app: App = new Hono();
  for (const add of ROUTES) add(app, service);
  return app.routes;
}

/**
 * Adds operations of sessions, which clients can use as {@link ROUTE_ACCESS} says. They throw refusals.
 *
 * @param enter Authenticates the client, and sends what the operation answers.
 */
export function addOperations(
  app: App,
  handlers: App["routes"],
  service: SessionService,
  enter: MiddlewareHandler<AppBindings>,
): void {
  for (const { method, path, handler } of handlers)
    app.on(method, path, enter, guard(accessTo(`${method} ${path}`), service), handler);
}

/** See {@link RouteAccess.sessionAgeMs}. */
const RECENT_MS = 500;

/** Passes on the requests of clients that may use a route. */
function guard(access: RouteAccess, service: SessionService): MiddlewareHandler<AppBindings> {
  return async ({ env: { client }, req }, next) => {
    // Another server may have opened or changed it.
    if (access.session)
      await service.sessions.find(req.param("id") ?? "", { maxAgeMs: access.sessionAgeMs ?? RECENT_MS });
    admit(access, client, access.session && service.session(client, req.param("id") ?? ""));
    return next();
  };
}
