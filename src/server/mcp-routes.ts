import type { ServerResponse } from "node:http";
import type { FairBudget } from "../base/fair-budget.ts";
import { MAX_DELAY_MS, race } from "../base/timers.ts";
import { ACCESS } from "../http/access.ts";
import { ANSWERED, type Door, type RouteGroup } from "../http/door.ts";
import { beginExchange, type Exchange, passOrigin } from "../http/exchange.ts";
import type { Metric } from "../http/metrics.ts";
import { draining, forbidden, notFound } from "../http/refusals.ts";
import type { Incoming } from "../http/request.ts";
import { limitUnread, respondJson, sendPushed, sendResponse, UnreadAnswers } from "../http/respond.ts";
import { MCP_PATH, ProtectedResource, type TokenSenders } from "../http/token-senders.ts";
import type { McpServer } from "../mcp/server/mcp-server.ts";
import { JSON_MEDIA_TYPE } from "../remote-protocol/http.ts";
import { RequestRefusal } from "../remote-protocol/problems.ts";

const MCP_METHODS: readonly string[] = ["GET", "POST", "DELETE"];

/** The method of MCP 2026-07-28 whose response lasts. The header has the method of the message, or the request is refused. */
const LISTEN_METHOD = "subscriptions/listen";

/** What {@link McpRoutes} are made of. */
interface McpRoutesParts {
  readonly server: McpServer;
  /** Those with access tokens; `undefined` if only the server's own credentials are accepted. */
  readonly tokens: TokenSenders | undefined;
  /** Where the bytes of a response count until the client has read them. */
  readonly unread: FairBudget;
}

/** The routes of an MCP server. */
export class McpRoutes implements RouteGroup {
  readonly #parts: McpRoutesParts;
  readonly unreadiness: undefined;
  #drained: Promise<void> | undefined;

  constructor(parts: McpRoutesParts) {
    this.#parts = parts;
  }

  /** What accepts access tokens; `undefined` if only the server's own credentials are accepted. */
  get tokens(): TokenSenders | undefined {
    return this.#parts.tokens;
  }

  get server(): McpServer {
    return this.#parts.server;
  }

  register(door: Door): void {
    door.routes.all(MCP_PATH, async ({ env }) => {
      await this.#handle(env, door);
      return ANSWERED;
    });
    const { tokens } = this.#parts;
    if (tokens === undefined) return;
    for (const path of ProtectedResource.paths) {
      door.routes.all(path, async ({ env }) => {
        const { request, response } = env;
        if (request.url !== path) door.refuseUnknown(env);
        if (pass(env, door) === undefined) return ANSWERED;
        if (request.method !== "GET") throw notFound();
        await sendResponse(tokens.resource.respond(), response, new AbortController().signal);
        return ANSWERED;
      });
    }
  }

  readMetrics(): readonly Metric[] {
    return [];
  }

  /** Waits for the calls that are under way, and cancels those that take longer. Later requests are refused. */
  drain(maxMs: number): Promise<void> {
    this.#drained ??= this.#drain(maxMs);
    return this.#drained;
  }

  async #drain(maxMs: number): Promise<void> {
    const { server, tokens } = this.#parts;
    await race(server.idle(), { timeoutMs: maxMs });
    await server.close();
    await tokens?.close();
  }

  /** @throws {RequestRefusal} as a rejection. */
  async #handle(incoming: Incoming, door: Door): Promise<void> {
    const { request, response } = incoming;
    const authority = pass(incoming, door);
    if (authority === undefined) return;
    const proven = await door.identify(request, authority, ACCESS.mcp);
    // The connection was closed while the access token was verified.
    if (response.destroyed) return;
    const { clients } = door;
    if (clients === undefined) throw new Error("a server with these routes has roles");
    const exchange = beginExchange(incoming, proven, door, clients);
    endWithCredential(exchange, response);
    const answer = await this.#answer(exchange);
    const unread = new UnreadAnswers(this.#parts.unread, exchange.client.name);
    if (typeof answer === "string") {
      limitUnread(response, unread);
      if (!response.destroyed) respondJson(response, answer);
      return;
    }
    answer.headers.set("cache-control", "no-store");
    await sendPushed(answer, response, unread);
  }

  /**
   * @returns the response, or the JSON text of one.
   * @throws {RequestRefusal} as a rejection.
   */
  async #answer(exchange: Exchange): Promise<Response | string> {
    const { server } = this.#parts;
    const { client, closed, request } = exchange;
    const { method = "GET", headers } = request;
    if (!MCP_METHODS.includes(method)) throw notFound();
    exchange.door.admit(ACCESS.mcp, exchange.sender);
    if (this.#drained !== undefined) throw draining();
    const body = method === "POST" ? await exchange.readText([JSON_MEDIA_TYPE]) : undefined;
    const { principal } = client;
    if (body !== undefined) {
      const header = (name: string): string | null => headers[name]?.toString() ?? null;
      const called = await server.call({ text: body, header, signal: closed }, { principal });
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
    return server.fetch(routed, { principal });
  }
}

/** What MCP says about hosts and origins of other sites. See {@link passOrigin}. */
function pass(incoming: Incoming, door: Door): string | undefined {
  try {
    return passOrigin(incoming, door);
  } catch (thrown) {
    if (thrown instanceof RequestRefusal && thrown.code === "misdirected") throw forbidden(thrown.message);
    throw thrown;
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
