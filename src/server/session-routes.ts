import type { IncomingMessage, ServerResponse } from "node:http";
import type { Context, MiddlewareHandler, Next } from "hono";
import { FairBudget } from "../base/fair-budget.ts";
import { MAX_DELAY_MS, race } from "../base/timers.ts";
import { type ExecutorLimits, HELD_BODIES } from "../executor/limits.ts";
import type { ExecutorRoute, MoreRoutes } from "../executor/routes.ts";
import { authenticate, noteSender, type Sender } from "../http/authentication.ts";
import { ANSWERED, type Door } from "../http/door.ts";
import type { Metric } from "../http/prometheus-text.ts";
import { draining, forbidden, notFound, storeFailed } from "../http/refusals.ts";
import type { Incoming } from "../http/request.ts";
import { Origins } from "../http/request.ts";
import { limitUnread, respondJson, sendPushed, sendResponse } from "../http/respond.ts";
import type { McpServer } from "../mcp/server/mcp-server.ts";
import { FRAMES_PATH } from "../remote-protocol/frames/frame.ts";
import { DISPATCH_PATH, JSON_MEDIA_TYPE } from "../remote-protocol/http.ts";
import { RequestRefusal } from "../remote-protocol/problems.ts";
import { SessionStoreError } from "../sessions/session-errors.ts";
import { Client, type Clients, OPERATOR_CALLER, type OwnedSession } from "./access/client.ts";
import { admit } from "./access/route-access.ts";
import { LOGGING_IN, LOGIN_CALLER, loginOf, MAX_LOGIN_BYTES } from "./console/logins.ts";
import { PAGE_PATH } from "./console/page-files.ts";
import { type App, type AppBindings, Exchange } from "./exchange.ts";
import { MCP_PATH, ProtectedResource } from "./mcp/protected-resource.ts";
import type { TokenSenders } from "./mcp/token-senders.ts";
import { addOperations, sessionHandlers } from "./routes/app.ts";
import type { SessionService } from "./service.ts";
import type { SessionMetrics } from "./session-metrics.ts";

const MCP_METHODS: readonly string[] = ["GET", "POST", "DELETE"];

/** The routes of an MCP server. */
export class McpRoutes {
  /** Those with access tokens; `undefined` if only the server's own credentials are accepted. */
  readonly tokens: TokenSenders | undefined;
  readonly server: McpServer;
  #isEnding = false;

  constructor(server: McpServer, tokens: TokenSenders | undefined) {
    this.server = server;
    this.tokens = tokens;
  }

  /**
   * Returns who sent a request: by the server's own credentials, or by an access token.
   *
   * @throws {RequestRefusal} as a rejection.
   */
  async senderOf(request: IncomingMessage, authority: string, door: Door): Promise<Sender> {
    try {
      return await authenticate(door, request, authority);
    } catch (problem) {
      if (this.tokens === undefined) throw problem;
      const sender = await this.tokens.senderOf(request, problem);
      noteSender(request, sender);
      return sender;
    }
  }

  /**
   * Responds to a request that has passed the checks of its host, its origin and its sender.
   *
   * @returns the response, or the JSON text of one.
   * @throws {RequestRefusal} as a rejection.
   */
  async handle(exchange: Exchange): Promise<Response | string> {
    const { client, closed, request } = exchange;
    const { method = "GET", headers } = request;
    if (!MCP_METHODS.includes(method)) throw notFound();
    admit(`${method} ${MCP_PATH}`, client);
    if (this.#isEnding) throw draining();
    const body = method === "POST" ? await exchange.readText([JSON_MEDIA_TYPE]) : undefined;
    const { principal } = client;
    if (body !== undefined) {
      const header = (name: string): string | null => headers[name]?.toString() ?? null;
      const called = await this.server.call({ text: body, header, signal: closed }, { principal });
      if (called !== undefined) return called;
    }
    const entries = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
      value === undefined || name.startsWith(":") ? [] : [[name, String(value)]],
    );
    const routed = new Request(`http://server${MCP_PATH}`, {
      method,
      headers: entries,
      signal: closed,
      ...(body !== undefined && { body }),
    });
    return this.server.fetch(routed, { principal });
  }

  /** Notifies clients that the tools were replaced. */
  toolsChanged(): void {
    this.server.toolsChanged();
  }

  /** Waits for the calls that are under way, and cancels those that take longer. Later requests are refused. */
  async drain(maxMs: number): Promise<void> {
    this.#isEnding = true;
    await race(this.server.idle(), { timeoutMs: maxMs });
    await this.server.close();
    await this.tokens?.close();
  }
}

/** The method of MCP 2026-07-28 whose response lasts. The header has the method of the message, or the request is refused. */
const LISTEN_METHOD = "subscriptions/listen";

/** The paths of operations, with all that is below them: only clients learn what is there. */
const AREAS: readonly string[] = [
  "/v1/sessions",
  "/v1/confirmations",
  "/v1/programs",
  "/v1/policy",
  "/v1/pause",
  "/v1/resume",
  "/v1/overview",
  "/v1/journal",
  "/v1/console/tools",
];
/** Those that only a server with a console has. */
const CONSOLE_AREAS: readonly string[] = ["/v1/console", "/v1/calls"];

/** The routes over which calls come. */
const DISPATCHING: readonly ExecutorRoute[] = [`POST ${DISPATCH_PATH}`, `GET ${FRAMES_PATH}`];

/** The methods of the operations. */
const METHODS: readonly string[] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

/** Options of {@link SessionRoutes}. */
export interface SessionRoutesOptions {
  readonly service: SessionService;
  readonly clients: Clients;
  readonly origins: Origins;
  readonly limits: Pick<ExecutorLimits, "bodyBytes" | "drainMs">;
  readonly metrics: SessionMetrics;
  /** Whether the executor is served, too: otherwise, no request without a credential is accepted. */
  readonly hasExecutor: boolean;
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
  #door: Door | undefined;
  readonly #drainMs: number;
  readonly #mcp: McpRoutes | undefined;
  readonly #hasExecutor: boolean;
  readonly #metrics: SessionMetrics;
  readonly #bodies: { readonly maxBytes: number; readonly budget: FairBudget };

  constructor({ service, clients, origins, limits, mcp, metrics, hasExecutor }: SessionRoutesOptions) {
    this.#hasExecutor = hasExecutor;
    this.#clients = clients;
    this.#service = service;
    this.#origins = origins;
    this.#mcp = mcp;
    this.#metrics = metrics;
    this.#drainMs = limits.drainMs;
    const { bodyBytes } = limits;
    this.#bodies = { maxBytes: bodyBytes, budget: new FairBudget(bodyBytes * HELD_BODIES, bodyBytes) };
  }

  get unreadiness(): string | undefined {
    if (this.#service.sessions.problem !== undefined) return "the store cannot be written";
    return this.#service.admin.isPaused ? "paused" : undefined;
  }

  register(door: Door): void {
    this.#door = door;
    const { routes } = door;
    const { console } = this.#service;
    // The first handler replaces what the others get.
    const app = routes as unknown as App;
    const enter: MiddlewareHandler<AppBindings> = (context, next) => this.#enter(door, context, next);
    const areas = console === undefined ? AREAS : [...AREAS, ...CONSOLE_AREAS];
    const handlers = sessionHandlers(this.#service).filter(({ path }) =>
      areas.some((area) => path === area || path.startsWith(`${area}/`)),
    );
    addOperations(app, handlers, this.#service, enter);
    for (const area of areas) {
      app.all(`${area}/*`, enter, () => {
        throw notFound();
      });
    }
    if (console !== undefined) {
      routes.all(`${PAGE_PATH}*`, ({ env: { request, response } }) => {
        const { host } = request.headers;
        door.hostCheck.check({ ...(host !== undefined && { host }) });
        console.page.respond(request, response);
        return ANSWERED;
      });
    }
    const mcp = this.#mcp;
    if (mcp === undefined) return;
    routes.all(MCP_PATH, async ({ env }) => {
      await this.#handleMcp(env, door, mcp);
      return ANSWERED;
    });
    const { tokens } = mcp;
    if (tokens === undefined) return;
    for (const path of ProtectedResource.paths) {
      routes.all(path, async ({ env }) => {
        const { request, response } = env;
        if (request.url !== path) door.refuseUnknown(env);
        if (this.#passMcp(env, door) === undefined) return ANSWERED;
        if (request.method !== "GET") throw notFound();
        await sendResponse(tokens.resource.respond(), response, new AbortController().signal);
        return ANSWERED;
      });
    }
  }

  /** See {@link Clients.approves}. */
  approves(id: string, session: OwnedSession): boolean {
    return this.#clients.approves(id, session);
  }

  readMetrics(): readonly Metric[] {
    return this.#metrics.read();
  }

  get hasCredentials(): boolean {
    return !this.#hasExecutor || this.#mcp?.tokens !== undefined;
  }

  /** See {@link SessionRoutes.#pass}. */
  #passMcp({ request, response }: Incoming, door: Door): string | undefined {
    try {
      return this.#pass(request, response, door);
    } catch (thrown) {
      // What MCP says about hosts and origins of other sites.
      if (thrown instanceof RequestRefusal && thrown.code === "misdirected") throw forbidden(thrown.message);
      throw thrown;
    }
  }

  /** @throws {RequestRefusal} as a rejection. */
  async #handleMcp(incoming: Incoming, door: Door, mcp: McpRoutes): Promise<void> {
    const { request, response } = incoming;
    const authority = this.#passMcp(incoming, door);
    if (authority === undefined) return;
    const sender = await mcp.senderOf(request, authority, door);
    // The connection was closed while the access token was verified.
    if (response.destroyed) return;
    const exchange = this.#begin(request, response, sender, door);
    endWithCredential(exchange, response);
    const answer = await mcp.handle(exchange);
    const unread = this.#service.unreadAnswersOf(exchange.client);
    if (typeof answer === "string") {
      limitUnread(response, unread);
      if (!response.destroyed) respondJson(response, answer);
      return;
    }
    answer.headers.set("cache-control", "no-store");
    await sendPushed(answer, response, unread);
  }

  /**
   * Checks the host and the origin of a request.
   *
   * @returns the host; `undefined` for a preflight, which is answered.
   */
  #pass(request: IncomingMessage, response: ServerResponse, { hostCheck }: Door): string | undefined {
    const { host = "" } = request.headers;
    const authority = hostCheck.check({ host });
    this.#origins.check(request, response);
    if (request.method !== "OPTIONS" || request.headers.origin === undefined) return authority;
    Origins.preflight(response);
    return undefined;
  }

  /** Begins to serve a sender. */
  #begin(request: IncomingMessage, response: ServerResponse, sender: Sender, door: Door): Exchange {
    const clients = this.#clients;
    const isLogin = sender.caller === LOGIN_CALLER;
    const client = isLogin ? new Client(sender, { roles: [] }) : clients.of(sender);
    const bodies = isLogin ? { ...this.#bodies, maxBytes: MAX_LOGIN_BYTES } : this.#bodies;
    const access = { guards: door, clients: () => this.#clients };
    const exchange = new Exchange(request, response, { sender, client, access }, bodies);
    this.#open.add(exchange);
    exchange.closed.addEventListener("abort", () => this.#open.delete(exchange), { once: true });
    return exchange;
  }

  /** Authenticates the client of an operation, and sends what the operation answers. */
  async #enter(door: Door, context: Context<AppBindings>, next: Next): Promise<Response | undefined> {
    const { request, response } = context.env as unknown as Incoming;
    const authority = this.#pass(request, response, door);
    if (authority === undefined) return ANSWERED;
    const login = loginOf(request, this.#service.console);
    const sender = login?.sender ?? (await authenticate(door, request, authority));
    if (login !== undefined) noteSender(request, sender);
    const exchange = this.#begin(request, response, sender, door);
    if (login !== undefined && login !== LOGGING_IN) endWithLogin(exchange, login.ended);
    const { client } = exchange;
    const { method = "GET", url = "/" } = request;
    if (!METHODS.includes(method)) throw notFound();
    // Proxies, logs and signatures have the path as it was sent: one with `..` would be another one for them.
    if (URL.parse(url, "http://server")?.pathname !== url.split("?", 1)[0]) throw notFound();
    context.env = exchange;
    try {
      await next();
    } catch (error) {
      throw error instanceof SessionStoreError ? storeFailed(error) : error;
    }
    // A response to `HEAD` has no body.
    const answer = method === "HEAD" ? new Response(null, context.res) : context.res;
    answer.headers.set("cache-control", "no-store");
    // Any other request has had its effect, which a refusal would deny.
    const unread = method === "GET" ? this.#service.unreadOf(client) : undefined;
    await sendResponse(answer, response, exchange.revoked, unread);
    return undefined;
  }

  /** Replaces the clients, and ends the requests of those that may no longer do the same. The guards have been replaced. */
  reload(clients: Clients): void {
    this.#clients = clients;
    const authentication = this.#door?.authentication;
    // A reload does not affect access tokens or the operator.
    const isCurrent = (sender: Sender): boolean =>
      sender.expiresAt !== undefined ||
      sender.caller === OPERATOR_CALLER ||
      authentication?.isCurrent(sender) === true;
    this.#service.console?.logins.endUnless(
      (sender) => isCurrent(sender) && !clients.of(sender).is("caller"),
    );
    for (const exchange of this.#open) {
      const { sender, client } = exchange;
      if (sender.caller === LOGIN_CALLER) continue;
      if (!isCurrent(sender) || !clients.of(sender).equals(client)) exchange.revoke();
    }
  }

  /** Notifies clients that listen that the tools were replaced. */
  toolsChanged(): void {
    this.#mcp?.toolsChanged();
  }

  admit(route: ExecutorRoute, sender: Sender): void {
    admit(route, this.#clients.of(sender));
    if (DISPATCHING.includes(route)) this.#service.refuseIfPaused();
  }

  async drain(): Promise<void> {
    await this.#mcp?.drain(this.#drainMs);
    await this.#service.close(this.#drainMs);
  }
}

/** Ends the streams and unread bodies of a login with it. */
function endWithLogin(exchange: Exchange, ended: AbortSignal): void {
  const revoke = (): void => exchange.revoke();
  ended.addEventListener("abort", revoke, { once: true });
  exchange.closed.addEventListener("abort", () => ended.removeEventListener("abort", revoke), { once: true });
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
