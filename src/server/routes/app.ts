import { Hono } from "hono";
import { SessionStoreError } from "../../sessions/store/session-store-error.ts";
import { notFound, storeFailed } from "../http/refusals.ts";
import type { SessionService } from "../service.ts";
import { adminRoutes } from "./admin.ts";
import { approvalRoutes } from "./approvals.ts";
import { changeRoutes } from "./changes.ts";
import { confirmationRoutes } from "./confirmations.ts";
import { eventRoutes } from "./events.ts";
import { messageRoutes } from "./messages.ts";
import type { App } from "./session-app.ts";
import { sessionRoutes } from "./sessions.ts";
import { turnRoutes } from "./turns.ts";

const ROUTES = [
  ...[sessionRoutes, messageRoutes, turnRoutes, eventRoutes],
  ...[confirmationRoutes, approvalRoutes, changeRoutes, adminRoutes],
];

/** Returns the routes of the sessions. They throw refusals. */
export function sessionApp(service: SessionService): App {
  const app: App = new Hono();
  for (const add of ROUTES) add(app, service);
  app.notFound(() => {
    throw notFound();
  });
  app.onError((error) => {
    throw error instanceof SessionStoreError ? storeFailed(error) : error;
  });
  return app;
}
