import type { Hono } from "hono";
import type { Exchange } from "../http/exchange.ts";

/** What a route gets besides the request. */
export interface AppBindings {
  Bindings: Exchange;
}

/** The routes of sessions, with the exchange of the request at hand. */
export type App = Hono<AppBindings>;
