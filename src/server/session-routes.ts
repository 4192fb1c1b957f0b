import type { IncomingMessage, ServerResponse } from "node:http";
import { FairBudget } from "../base/fair-budget.ts";
import type { Sender } from "../executor/http/authentication.ts";
import type { Guards, MoreRoutes } from "../executor/http/more-routes.ts";
import { type ExecutorLimits, HELD_BODIES } from "../executor/load/limits.ts";
import { RemoteProblem } from "../remote-protocol/problems.ts";
import type { Clients } from "./access/client.ts";
import { Exchange } from "./http/exchange.ts";
import { Origins } from "./http/origins.ts";
import { forbidden, notFound } from "./http/refusals.ts";
import { sendResponse } from "./http/send-response.ts";
import { McpRoutes } from "./mcp/mcp-routes.ts";
import { ProtectedResource } from "./mcp/protected-resource.ts";
import { sessionApp } from "./routes/app.ts";
import type { App } from "./routes/session-app.ts";
import type { SessionService } from "./service.ts";

/** The paths of the routes, and what is below them. */
const PATH = /^\/v1\/(?:sessions|confirmations|policy|pause|resume)(?:[/?]|$)/;

/** The methods of the routes. `Request` would throw for some of the others, such as TRACE. */
const METHODS: readonly string[] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

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
    return McpRoutes.has(request) || (this.#mcp.resource !== undefined && ProtectedResource.has(url));
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
    const { resource } = mcp;
    let exchange: Exchange | undefined;
    try {
      exchange = this.#admit(request, response, guards, !McpRoutes.has(request));
    } catch (thrown) {
      if (!(thrown instanceof RemoteProblem)) throw thrown;
      // What MCP says about hosts and origins of other sites.
      if (thrown.code === "misdirected") throw forbidden(thrown.message);
      if (thrown.code === "unauthenticated" && resource !== undefined) throw resource.refusal(thrown.message);
      throw thrown;
    }
    // A preflight has been answered.
    if (response.headersSent) return;
    const never = new AbortController().signal;
    if (exchange === undefined) {
      if (request.method !== "GET") throw notFound();
      await sendResponse(resource?.respond() ?? new Response(null, { status: 404 }), response, never);
      return;
    }
    const answer = await mcp.handle(exchange);
    answer.headers.set("cache-control", "no-store");
    await sendResponse(answer, response, exchange.revoked);
  }

  /**
   * Checks the host, the origin and the sender of a request.
   *
   * @param isPublic Whether everybody may send it.
   * @returns `undefined` if it is public, or a preflight, which is answered.
   */
  #admit(
    request: IncomingMessage,
    response: ServerResponse,
    guards: Guards,
    isPublic: boolean,
  ): Exchange | undefined {
    const { host = "" } = request.headers;
    const authority = guards.hostCheck.check({ host });
    this.#origins.check(request, response);
    if (request.method === "OPTIONS" && request.headers.origin !== undefined) {
      Origins.preflight(response);
      return undefined;
    }
    if (isPublic) return undefined;
    const sender = guards.authentication.check(request, authority);
    const client = this.#clients.of(sender);
    const exchange = new Exchange(request, response, sender, client, this.#bodies);
    this.#open.add(exchange);
    exchange.closed.addEventListener("abort", () => this.#open.delete(exchange), { once: true });
    return exchange;
  }

  async #handleSessions(request: IncomingMessage, response: ServerResponse, guards: Guards): Promise<void> {
    const exchange = this.#admit(request, response, guards, false);
    if (exchange === undefined) return;
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
      if (!authentication.isCurrent(sender) || !clients.of(sender).equals(client)) exchange.revoke();
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
