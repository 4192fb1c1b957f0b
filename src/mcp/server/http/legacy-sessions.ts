import { randomUUID } from "node:crypto";
import type {
  Server as SdkServer,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import type { JsonValue } from "../../../json/value.ts";
import type { Session } from "../../../sessions/session.ts";
import type { Principal } from "../../../tool/principal.ts";
import { type ClientSessions, principalKey } from "../client-sessions.ts";
import { peerServer, type ServerParts } from "../peer-server.ts";

/** Milliseconds after which a session that is not used ends. */
const IDLE_MS = 30 * 60_000;
const SWEEP_MS = 60_000;
/** How many sessions one principal has, and all together. */
const MAX_OF_PRINCIPAL = 100;
const MAX_SESSIONS = 1_000;

/** A session of MCP 2025-11-25. */
interface McpSession {
  /** The key of its principal, and its id. */
  readonly key: string;
  readonly id: string;
  readonly server: SdkServer;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  /** Opened with the first call or list. */
  readonly session: () => Promise<Session>;
  /**
   * Requests whose responses have not ended. Without a reference, a request would not be aborted with the
   * connection.
   */
  readonly open: Set<Request>;
  usedAt: number;
}

/** The sessions of clients of MCP 2025-11-25 over HTTP. */
export class LegacySessions {
  readonly #parts: ServerParts;
  readonly #clients: ClientSessions;
  readonly #sessions = new Map<string, McpSession>();
  readonly #sweep: NodeJS.Timeout;
  #starting = 0;

  constructor(parts: ServerParts, clients: ClientSessions) {
    this.#parts = parts;
    this.#clients = clients;
    this.#sweep = setInterval(() => this.#closeIdle(), SWEEP_MS);
    this.#sweep.unref();
  }

  /** The servers of the sessions. */
  servers(): readonly SdkServer[] {
    return Array.from(this.#sessions.values(), ({ server }) => server);
  }

  /**
   * Responds to a request. The SDK refuses requests without a session, except for `initialize`.
   *
   * @param body The body as parsed JSON; `undefined` if there is none.
   */
  async handle(request: Request, principal: Principal | undefined, body: unknown): Promise<Response> {
    const id = request.headers.get("mcp-session-id");
    if (id === null) return this.#begin(request, principal, body);
    const session = this.#sessions.get(id);
    // The same for a session of another principal, which must not show that it exists.
    if (session === undefined || session.key !== principalKey(principal)) {
      return errorResponse(404, -32_001, "The session does not exist: initialize again");
    }
    return this.#respond(session, request, body);
  }

  async #begin(request: Request, principal: Principal | undefined, body: unknown): Promise<Response> {
    const { sdk } = this.#parts;
    if (request.method !== "POST" || !sdk.isInitializeRequest(body)) {
      return errorResponse(400, -32_600, "The request needs the header mcp-session-id of a session");
    }
    const principalId = principal?.id ?? "";
    const own = [...this.#sessions.values()].filter((each) => each.id === principalId).length;
    if (own >= MAX_OF_PRINCIPAL || this.#sessions.size + this.#starting >= MAX_SESSIONS) {
      return errorResponse(429, -32_603, "There are too many sessions: end some with DELETE");
    }
    this.#starting++;
    try {
      const { session, transport, server } = this.#create(principal, body.params.clientInfo.name);
      await server.connect(transport);
      return await this.#respond(session, request, body);
    } finally {
      this.#starting--;
    }
  }

  #create(principal: Principal | undefined, clientName: string) {
    const { sdk } = this.#parts;
    let opened: Promise<Session> | undefined;
    const open = (): Promise<Session> => {
      opened ??= this.#clients.open(principal, clientName);
      return opened;
    };
    const server = peerServer(this.#parts, false, open);
    const transport = new sdk.WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => {
        this.#sessions.set(id, session);
      },
    });
    const session: McpSession = {
      key: principalKey(principal),
      id: principal?.id ?? "",
      server,
      transport,
      session: open,
      open: new Set(),
      usedAt: Date.now(),
    };
    // After `connect`, which sets it, the SDK calls this one, too.
    server.onclose = () => {
      if (transport.sessionId !== undefined) this.#sessions.delete(transport.sessionId);
      void opened?.then((each) => each.close()).catch(() => {});
    };
    return { session, transport, server };
  }

  async #respond(session: McpSession, request: Request, body: unknown): Promise<Response> {
    session.open.add(request);
    session.usedAt = Date.now();
    const close = (): void => {
      session.open.delete(request);
      session.usedAt = Date.now();
    };
    if (request.signal.aborted) close();
    else request.signal.addEventListener("abort", close, { once: true });
    return session.transport.handleRequest(request, body === undefined ? {} : { parsedBody: body });
  }

  #closeIdle(): void {
    const before = Date.now() - IDLE_MS;
    for (const { open, usedAt, server } of this.#sessions.values()) {
      if (open.size === 0 && usedAt < before) void server.close();
    }
  }

  /** Ends all sessions. */
  async close(): Promise<void> {
    clearInterval(this.#sweep);
    await Promise.allSettled(this.servers().map((server) => server.close()));
  }
}

/**
 * A response with an error of JSON-RPC.
 *
 * @param id The id of the request. Default: the error belongs to no request.
 */
export function errorResponse(status: number, code: number, message: string, id: JsonValue = null): Response {
  return Response.json({ jsonrpc: "2.0", error: { code, message }, id }, { status });
}
