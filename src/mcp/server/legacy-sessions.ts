import { randomUUID } from "node:crypto";
import type {
  Server as SdkServer,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { race } from "../../base/timers.ts";
import { canonicalText } from "../../json/canonical.ts";
import { copyJson } from "../../json/copy.ts";
import { parseJson } from "../../json/parse.ts";
import type { JsonValue } from "../../json/value.ts";
import { newId } from "../../sessions/ids.ts";
import type { Session } from "../../sessions/session.ts";
import type { Principal } from "../../tool/principal.ts";
import { callInSession, type PostedMessage, plainSessionCall } from "./call-directly.ts";
import { MESSAGE_BOUNDS } from "./client-message.ts";
import type { ServerParts } from "./exchange.ts";
import type { McpServerOptions } from "./options.ts";
import { peerServer } from "./peer-server.ts";
import type { ClientCapabilities } from "./runs/input-requests.ts";

/** Milliseconds after which an unused session ends. */
const IDLE_MS = 30 * 60_000;
const SWEEP_MS = 60_000;
/** Maximum number of sessions, per principal and in total. */
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
  /** The calls that are made without the SDK, which would cancel its own, by their ids. */
  readonly calls: Map<JsonValue, AbortController>;
  usedAt: number;
}

/** The media types of responses: a client has to accept both, as the SDK checks. */
const ACCEPTED = ["application/json", "text/event-stream"];

/** Whether a client can be asked while a call runs, which needs a stream, or has not said so yet. */
function isAsked(server: SdkServer): boolean {
  const { elicitation, sampling, roots } = server.getClientCapabilities() ?? { roots: {} };
  return [elicitation, sampling, roots].some((each) => each !== undefined);
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
    // The same response for another principal's session, so as not to reveal that it exists.
    if (session === undefined || session.key !== principalKey(principal)) {
      return errorResponse(404, -32_001, "The session does not exist: initialize again");
    }
    this.#cancel(session, body);
    return this.#respond(session, request, body);
  }

  /**
   * Makes a call without the SDK, if nothing about it is special and its client cannot be asked anything. The answer to one that
   * takes long is a stream.
   *
   * @returns the JSON text of the response, or a response; `undefined`, before anything ran, if the SDK has to read the request.
   */
  async call(
    { text, header }: PostedMessage,
    principal: Principal | undefined,
  ): Promise<string | Response | undefined> {
    const session = this.#sessions.get(header("mcp-session-id") ?? "");
    // Logs of a call need a stream, too.
    if (this.#parts.options.logs === true) return undefined;
    if (session === undefined || session.key !== principalKey(principal)) return undefined;
    const { server, calls, session: open } = session;
    const accepted = header("accept") ?? "";
    if (!ACCEPTED.every((type) => accepted.includes(type)) || isAsked(server)) return undefined;
    const parsed = parseJson(text, MESSAGE_BOUNDS);
    const message = "value" in parsed ? parsed.value : null;
    const id = plainSessionCall(message, header);
    if (id === undefined || calls.has(id)) return undefined;
    const cancelling = new AbortController();
    calls.set(id, cancelling);
    session.usedAt = Date.now();
    const { signal } = cancelling;
    const capabilities = (server.getClientCapabilities() ?? {}) as ClientCapabilities;
    const ending = callInSession(this.#parts, { message, session: open, capabilities, signal }).finally(
      () => {
        calls.delete(id);
        session.usedAt = Date.now();
      },
    );
    const answer = await race(ending, { timeoutMs: STREAM_AFTER_MS });
    return answer === "timeout" ? streamOf(ending) : (answer ?? new Response(null, { status: 202 }));
  }

  #cancel({ calls }: McpSession, body: unknown): void {
    const { method, params } = (body ?? {}) as { method?: unknown; params?: { requestId?: JsonValue } };
    const { requestId } = params ?? {};
    if (method === "notifications/cancelled" && requestId !== undefined) calls.get(requestId)?.abort();
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
      calls: new Map(),
      usedAt: Date.now(),
    };
    // After `connect`, which sets it, the SDK calls this one, too.
    server.onclose = () => {
      for (const call of session.calls.values()) call.abort();
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
    for (const { open, calls, usedAt, server } of this.#sessions.values()) {
      if (open.size + calls.size === 0 && usedAt < before) void server.close();
    }
  }

  /** Ends all sessions. */
  async close(): Promise<void> {
    clearInterval(this.#sweep);
    await Promise.allSettled(this.servers().map((server) => server.close()));
  }
}

/** Milliseconds after which the answer to a call is streamed. */
const STREAM_AFTER_MS = 1_000;
/** Milliseconds between comments in its stream, as the SDK has it. */
const KEEP_ALIVE_MS = 15_000;

/**
 * Streams the answer to a call that takes long, for example since it waits for a person: clients, and proxies before the server,
 * give up connections on which nothing comes.
 *
 * @param ending The JSON text of the answer; `undefined` if there is none.
 */
function streamOf(ending: Promise<string | undefined>): Response {
  let timer: NodeJS.Timeout | undefined;
  const events = new ReadableStream<Uint8Array>({
    start: (controller) => {
      const write = (text: string): void => controller.enqueue(Buffer.from(text));
      timer = setInterval(() => write(": keepalive\n\n"), KEEP_ALIVE_MS).unref();
      const end = (answer: string | undefined): void => {
        clearInterval(timer);
        if (answer !== undefined) write(`event: message\ndata: ${answer}\n\n`);
        controller.close();
      };
      // The client may be gone.
      ending.then(end).catch(() => clearInterval(timer));
    },
    cancel: () => clearInterval(timer),
  });
  return new Response(events, {
    headers: { "content-type": "text/event-stream", "x-accel-buffering": "no" },
  });
}

/**
 * A response with a JSON-RPC error.
 *
 * @param id The id of the request. Default: the error belongs to no request.
 */
export function errorResponse(status: number, code: number, message: string, id: JsonValue = null): Response {
  return Response.json({ jsonrpc: "2.0", error: { code, message }, id }, { status });
}

/** The prefix of the ids of MCP clients' sessions. */
const PREFIX = "mcp-";
/** Maximum number of principals with a shared session. */
const MAX_SHARED = 1_000;
/** Maximum number of these with the same id, but different roles or attributes. */
const MAX_SHARED_OF_ID = 16;

/** Maximum number of characters of a client's name. */
const MAX_NAME_CHARS = 128;

interface Shared {
  readonly id: string;
  readonly session: Promise<Session>;
}

/**
 * The key of a principal. Its id is not enough: the access tokens of one user have different scopes, and a
 * session belongs to the principal that opened it.
 */
function principalKey(principal: Principal | undefined): string {
  return principal === undefined ? "" : canonicalText(copyJson(principal));
}

/**
 * The sessions of clients. Each session of MCP 2025-11-25 has its own. MCP 2026-07-28 has no sessions, and
 * what a client sees must not depend on its connection: there, all requests of a principal share one.
 */
export class ClientSessions {
  readonly #options: Pick<McpServerOptions, "sessions" | "session">;
  /** By the keys of principals. */
  readonly #shared = new Map<string, Shared>();

  constructor(options: Pick<McpServerOptions, "sessions" | "session">) {
    this.#options = options;
  }

  /** Whether a session belongs to a client of an MCP server. */
  static owns(sessionId: string): boolean {
    return sessionId.startsWith(PREFIX);
  }

  /** Closes the sessions of an earlier process, whose clients are gone. */
  async closeLeft(): Promise<void> {
    const left = this.#options.sessions.list().filter(({ id }) => ClientSessions.owns(id));
    await Promise.all(left.map((session) => session.close()));
  }

  /**
   * Opens a session for one client. The caller closes it.
   *
   * @param clientName The client's own name. Default: the session has no name.
   */
  open(principal: Principal | undefined, clientName = ""): Promise<Session> {
    const { sessions, session } = this.#options;
    const given = session?.(principal) ?? {};
    const id = PREFIX + newId();
    // The sessions are closed when the process restarts: clients could not resume stored ones.
    const name = clientName.slice(0, MAX_NAME_CHARS).toWellFormed();
    const own = { durable: false, ...(name.trim() !== "" && { name }) };
    return sessions.open({ ...own, ...given, id, ...(principal !== undefined && { principal }) });
  }

  /** The session that all requests of a principal share. */
  async shared(principal: Principal | undefined): Promise<Session> {
    const key = principalKey(principal);
    const known = this.#shared.get(key);
    if (known !== undefined) {
      const session = await known.session;
      // A client of the sessions' own API, or the embedder, may have closed it.
      if (this.#options.sessions.get(session.id) === session) return session;
    }
    const current = this.#shared.get(key);
    if (current !== undefined && current !== known) return current.session;
    const id = principal?.id ?? "";
    if (current === undefined) this.#makeRoom(id);
    const session = this.open(principal);
    this.#shared.set(key, { id, session });
    session.catch(() => this.#shared.delete(key));
    return session;
  }

  /**
   * If there are too many sessions of this id or in total, closes the oldest of them. Its principal gets a
   * new session, with new quotas.
   */
  #makeRoom(id: string): void {
    const own = [...this.#shared].filter(([, shared]) => shared.id === id);
    const [oldest] = own.length >= MAX_SHARED_OF_ID ? own : this.#shared;
    if (oldest === undefined || (own.length < MAX_SHARED_OF_ID && this.#shared.size < MAX_SHARED)) return;
    this.#shared.delete(oldest[0]);
    oldest[1].session.then((session) => session.close()).catch(() => {});
  }

  /** Closes the shared sessions. */
  async close(): Promise<void> {
    const opened = await Promise.allSettled(Array.from(this.#shared.values(), ({ session }) => session));
    this.#shared.clear();
    await Promise.allSettled(
      opened.map((each) => (each.status === "fulfilled" ? each.value.close() : undefined)),
    );
  }
}
