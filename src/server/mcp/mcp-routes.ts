import type { IncomingMessage } from "node:http";
import { race } from "../../base/timers.ts";
import { authenticate, noteSender, type Sender } from "../../executor/http/authentication.ts";
import type { Guards } from "../../executor/http/more-routes.ts";
import type { McpServer } from "../../mcp/server/mcp-server.ts";
import { JSON_MEDIA_TYPE } from "../../remote-protocol/http.ts";
import type { Exchange } from "../http/exchange.ts";
import { admit, draining, notFound } from "../http/refusals.ts";
import { MCP_PATH, ProtectedResource } from "./protected-resource.ts";
import type { TokenSenders } from "./token-senders.ts";

const METHODS: readonly string[] = ["GET", "POST", "DELETE"];

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

  /** Whether a request is for the MCP server. */
  static has({ url = "" }: IncomingMessage): boolean {
    return url === MCP_PATH || url.startsWith(`${MCP_PATH}?`);
  }

  /** Whether a request is for the metadata, which need no credentials. */
  isPublic({ url = "" }: IncomingMessage): boolean {
    return this.tokens !== undefined && ProtectedResource.has(url);
  }

  /**
   * Returns who sent a request: by the server's own credentials, or by an access token.
   *
   * @throws {RouteRefusal | RemoteProblem} as a rejection.
   */
  async senderOf(request: IncomingMessage, authority: string, guards: Guards): Promise<Sender> {
    try {
      return await authenticate(guards, request, authority);
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
   * @throws {RouteRefusal | RemoteProblem} as a rejection.
   */
  async handle(exchange: Exchange): Promise<Response | string> {
    const { client, closed, request } = exchange;
    const { method = "GET", headers } = request;
    if (!METHODS.includes(method)) throw notFound();
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
