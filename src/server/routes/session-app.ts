import type { Hono } from "hono";
import type { Exchange } from "../http/exchange.ts";

/** The routes of sessions, with the exchange of the request at hand. */
export type App = Hono<{ Bindings: Exchange }>;
