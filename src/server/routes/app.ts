import { Hono } from "hono";
import type { Exchange } from "../http/exchange.ts";
import { notFound } from "../http/refusals.ts";
import type { SessionService } from "../service.ts";
import { approvalRoutes } from "./approvals.ts";
import { confirmationRoutes } from "./confirmations.ts";
import { eventRoutes } from "./events.ts";
import { sessionRoutes } from "./sessions.ts";
import { turnRoutes } from "./turns.ts";

/** The routes, with the exchange of the request at hand. */
export type App = Hono<{ Bindings: Exchange }>;

/** Returns the routes of the sessions. They throw refusals. */
export function sessionApp(service: SessionService): App {
  const app: App = new Hono();
  for (const add of [sessionRoutes, turnRoutes, eventRoutes, confirmationRoutes, approvalRoutes])
    add(app, service);
  app.notFound(() => {
    throw notFound();
  });
  app.onError((error) => {
    throw error;
  });
  return app;
}
