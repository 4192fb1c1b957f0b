import type { Context, Handler, Hono, MiddlewareHandler } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { RouteAccess } from "../../http/access.ts";
import type { Exchange } from "../../http/exchange.ts";
import { badRequest } from "../../http/refusals.ts";
import type { AnswerBody, Operation } from "../../shapes/operation.ts";

/** What a route gets besides the request. */
export interface AppBindings {
  Bindings: Exchange;
}

/** Where the routes of sessions are added. */
export interface App {
  readonly routes: Hono<AppBindings>;
  /** Whether the server has what is at a path: some have no console. */
  has(path: string): boolean;
  /** Returns what comes before the handler of a route: it lets only those clients pass that may use the route. */
  guard(access: RouteAccess): readonly MiddlewareHandler<AppBindings>[];
}

/** What the handler of an operation gets. Its `json` answers with what the operation's answers say, and nothing else. */
type Answering<Of extends Operation> = Pick<Context<AppBindings, Of["path"]>, "env" | "req"> & {
  json<Status extends keyof Of["answers"] & ContentfulStatusCode = keyof Of["answers"] & 200>(
    body: AnswerBody<Of, Status>,
    status?: Status,
  ): Response;
};

/** Serves an operation to the clients that it says. */
export function serve<const Of extends Operation>(
  app: App,
  { method, path, access }: Of,
  handler: (context: Answering<Of>) => Response | Promise<Response>,
): void {
  if (!app.has(path)) return;
  const handlers = [...app.guard(access), handler as unknown as Handler<AppBindings>];
  app.routes.on(method, [path], ...handlers);
}

/** Which page of a list is asked for. */
export interface Page {
  /** The page has what comes before this number. Default: it has the end of the list. */
  readonly before: number | undefined;
  /** Maximum number of items. */
  readonly limit: number;
}

const DEFAULT_LIMIT = 100;
const NUMBER = /^[1-9]\d{0,15}$/;

/**
 * Reads `before` and `limit` of a query.
 *
 * @param most The highest `limit`.
 * @throws {RequestRefusal} 400 if one of them is not a number from 1 on, or `limit` is too high.
 */
export function pageOf(query: Readonly<Record<string, string>>, most: number): Page {
  const limit = numberOf(query, "limit") ?? Math.min(DEFAULT_LIMIT, most);
  if (limit > most) throw badRequest(`limit must be at most ${most}`);
  return { before: numberOf(query, "before"), limit };
}

function numberOf(query: Readonly<Record<string, string>>, name: "before" | "limit"): number | undefined {
  const text = query[name];
  if (text === undefined) return undefined;
  if (!NUMBER.test(text) || !Number.isSafeInteger(Number(text))) {
    throw badRequest(`${name} must be a whole number from 1 on`);
  }
  return Number(text);
}
