import { Hono, type MiddlewareHandler } from "hono";
import { notFound, storeFailed } from "../../http/refusals.ts";
import { SessionStoreError } from "../../sessions/session-errors.ts";
import type { RouteAccess } from "../../shapes/operation.ts";
import { accessTo, admit } from "../access/route-access.ts";
import type { App, AppBindings } from "../http/exchange.ts";
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

/** Returns the routes of the sessions, which clients can use as {@link ROUTE_ACCESS} says. They throw refusals. */
export function sessionApp(service: SessionService): App {
  const unguarded: App = new Hono();
  for (const add of ROUTES) add(unguarded, service);
  const app: App = new Hono();
  for (const { method, path, handler } of unguarded.routes)
    app.on(method, path, guard(accessTo(`${method} ${path}`), service), handler);
  app.notFound(() => {
    throw notFound();
  });
  app.onError((error) => {
    throw error instanceof SessionStoreError ? storeFailed(error) : error;
  });
  return app;
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
