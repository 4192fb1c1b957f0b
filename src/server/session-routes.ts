import type { IncomingMessage, ServerResponse } from "node:http";
import { FairBudget } from "../base/fair-budget.ts";
import { MAX_DELAY_MS } from "../base/timers/deadline-timer.ts";
import type { Sender } from "../executor/http/authentication.ts";
import type { Guards, MoreRoutes } from "../executor/http/more-routes.ts";
import { respondJson } from "../executor/http/respond.ts";
import { type ExecutorLimits, HELD_BODIES } from "../executor/load/limits.ts";
import { RemoteProblem } from "../remote-protocol/problems.ts";
import type { Clients } from "./access/client.ts";
import { Exchange } from "./http/exchange.ts";
import { Origins } from "./http/origins.ts";
import { forbidden, notFound } from "./http/refusals.ts";
import { sendResponse } from "./http/send-response.ts";
import { McpRoutes } from "./mcp/mcp-routes.ts";
import { sessionApp } from "./routes/app.ts";
import type { App } from "./routes/session-app.ts";
import type { SessionService } from "./service.ts";

/** The paths of the routes, and what is below them. */
const PATH = /^\/v1\/(?:sessions|confirmations|policy|pause|resume)(?:[/?]|$)/;

/** The methods of the routes. `Request` would throw for some of the others, such as TRACE. */
const METHODS: readonly string[] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

/** The method of MCP 2026-07-28 whose response lasts. The header has the method of the message, or the request is refused. */
const LISTEN_METHOD = "subscriptions/listen";

/** Options of {@link SessionRoutes}. */
export interface SessionRoutesOptions {
  readonly service: SessionService;
  readonly clients: Clients;
  readonly origins: Origins;
  readonly limits: Pick<ExecutorLimits, "bodyBytes" | "drainMs">;
  /** Default: there is no MCP server. */
  readonly mcp?: McpRoutes | undefined;
}

/** The routes of sessions on an executor's server: they pass its guards first. */
export class SessionRoutes implements MoreRoutes {
  #clients: Clients;
  /** The requests whose responses have not been sent completely. */
  readonly #open = new Set<Exchange>();
  readonly #service: SessionService;
  readonly #origins: Origins;
  readonly #app: App;
  readonly #drainMs: number;
  readonly #mcp: McpRoutes | undefined;
  readonly #bodies: { readonly maxBytes: number; readonly held: FairBudget };

  constructor({ service, clients, origins, limits, mcp }: SessionRoutesOptions) {
    this.#clients = clients;
    this.#service = service;
    this.#origins = origins;
    this.#app = sessionApp(service);
    this.#mcp = mcp;
    this.#drainMs = limits.drainMs;
    const { bodyBytes } = limits;
    this.#bodies = { maxBytes: bodyBytes, held: new FairBudget(bodyBytes * HELD_BODIES, bodyBytes) };
  }

  get unreadiness(): string | undefined {
    if (this.#service.sessions.problem !== undefined) return "the store cannot be written";
    return this.#service.admin.isPaused ? "paused" : undefined;
  }

  has(request: IncomingMessage): boolean {
    const { url = "" } = request;
    if (PATH.test(url)) return true;
    if (this.#mcp === undefined) return false;
    return McpRoutes.has(request) || this.#mcp.isPublic(request);
  }

  get hasCredentials(): boolean {
    return this.#mcp?.tokens !== undefined;
  }

  async handle(request: IncomingMessage, response: ServerResponse, guards: Guards): Promise<void> {
    const { url = "" } = request;
    if (this.#mcp !== undefined && !PATH.test(url))
      await this.#handleMcp(request, response, guards, this.#mcp);
    else await this.#handleSessions(request, response, guards);
  }

  /** @throws {RouteRefusal | RemoteProblem} as a rejection. */
  async #handleMcp(
    request: IncomingMessage,
    response: ServerResponse,
    guards: Guards,
    mcp: McpRoutes,
  ): Promise<void> {
    let authority: string | undefined;
    try {
      authority = this.#pass(request, response, guards);
    } catch (thrown) {
      // What MCP says about hosts and origins of other sites.
      if (thrown instanceof RemoteProblem && thrown.code === "misdirected") throw forbidden(thrown.message);
      throw thrown;
    }
    if (authority === undefined) return;
    if (mcp.tokens !== undefined && mcp.isPublic(request)) {
      if (request.method !== "GET") throw notFound();
      await sendResponse(mcp.tokens.resource.respond(), response, new AbortController().signal);
      return;
    }
    const sender = await this.#mcpSender(request, authority, guards, mcp);
    // The connection was closed while the access token was verified.
    if (response.destroyed) return;
    const exchange = this.#begin(request, response, sender);
    endWithCredential(exchange, response);
    const answer = await mcp.handle(exchange);
    if (typeof answer === "string") {
      if (!response.destroyed) respondJson(response, answer);
      return;
    }
    answer.headers.set("cache-control", "no-store");
    await sendResponse(answer, response, exchange.revoked);
  }

  async #mcpSender(
    request: IncomingMessage,
    authority: string,
    { authentication }: Guards,
    { tokens }: McpRoutes,
  ): Promise<Sender> {
    try {
      return authentication.check(request, authority);
    } catch (problem) {
      if (tokens === undefined) throw problem;
      return await tokens.senderOf(request, problem);
    }
  }

  /**
   * Checks the host and the origin of a request.
   *
   * @returns the host; `undefined` for a preflight, which is answered.
   */
  #pass(request: IncomingMessage, response: ServerResponse, { hostCheck }: Guards): string | undefined {
    const { host = "" } = request.headers;
    const authority = hostCheck.check({ host });
    this.#origins.check(request, response);
    if (request.method !== "OPTIONS" || request.headers.origin === undefined) return authority;
    Origins.preflight(response);
    return undefined;
  }

  /** Begins to serve a sender. */
  #begin(request: IncomingMessage, response: ServerResponse, sender: Sender): Exchange {
    const exchange = new Exchange(request, response, sender, this.#clients.of(sender), this.#bodies);
    this.#open.add(exchange);
    exchange.closed.addEventListener("abort", () => this.#open.delete(exchange), { once: true });
    return exchange;
  }

  async #handleSessions(request: IncomingMessage, response: ServerResponse, guards: Guards): Promise<void> {
    const authority = this.#pass(request, response, guards);
    if (authority === undefined) return;
    const sender = guards.authentication.check(request, authority);
    const exchange = this.#begin(request, response, sender);
    const { client } = exchange;
    const { method = "GET", url = "/" } = request;
    if (!METHODS.includes(method)) throw notFound();
    // The host and the scheme play no part in routing.
    const routed = new URL(url, "http://server");
    // Proxies, logs and signatures have the path as it was sent: one with `..` would be another one for them.
    if (routed.pathname !== url.split("?", 1)[0]) throw notFound();
    const answer = await this.#app.fetch(new Request(routed, { method }), exchange);
    answer.headers.set("cache-control", "no-store");
    // Any other request has had its effect, which a refusal would deny.
    const unread = method === "GET" ? this.#service.unreadOf(client) : undefined;
    await sendResponse(answer, response, exchange.revoked, unread);
  }

  /** Replaces the clients, and ends the requests of those that may no longer do the same. The guards have been replaced. */
  reload(clients: Clients, { authentication }: Pick<Guards, "authentication">): void {
    this.#clients = clients;
    for (const exchange of this.#open) {
      const { sender, client } = exchange;
      // Access tokens are none of the credentials that were replaced.
      const isCurrent = sender.expiresAt !== undefined || authentication.isCurrent(sender);
      if (!isCurrent || !clients.of(sender).equals(client)) exchange.revoke();
    }
  }

  /** Tells clients that listen that the tools were replaced. */
  toolsChanged(): void {
    this.#mcp?.toolsChanged();
  }

  admitDispatch(sender: Sender): void {
    if (!this.#clients.of(sender).is("caller")) throw forbidden("only a caller can dispatch calls");
    this.#service.refuseIfPaused();
  }

  async drain(): Promise<void> {
    await this.#mcp?.drain(this.#drainMs);
    await this.#service.close(this.#drainMs);
  }
}

/**
 * Ends a stream that would last, and not the response to a call, when its credential is revoked or expires: the client has to
 * begin another one, with a new credential.
 */
function endWithCredential(exchange: Exchange, response: ServerResponse): void {
  const { request, sender, revoked, closed } = exchange;
  const { method, headers } = request;
  if (method !== "GET" && headers["mcp-method"] !== LISTEN_METHOD) return;
  revoked.addEventListener("abort", () => response.end(), { once: true });
  if (sender.expiresAt === undefined) return;
  const delay = Math.min(Math.max(sender.expiresAt - Date.now(), 0), MAX_DELAY_MS);
  const timer = setTimeout(() => exchange.revoke(), delay);
  closed.addEventListener("abort", () => clearTimeout(timer), { once: true });
}
