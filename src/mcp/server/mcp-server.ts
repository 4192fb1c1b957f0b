import type { AuthInfo, McpHttpHandler, Server as SdkServer } from "@modelcontextprotocol/server";
import { refuseUnknown } from "../../base/unknown-names.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";
import type { HostContext } from "../../tool/implementations/implementations.ts";
import type { McpProgress } from "../../tool/implementations/remote-implementation.ts";
import type { Principal } from "../../tool/principal.ts";
import { callDirectly, type PostedMessage, refuseParamHeaders } from "./call-directly.ts";
import { readBody } from "./client-message.ts";
import type { ServerParts } from "./exchange.ts";
import { ClientSessions, errorResponse, LegacySessions } from "./legacy-sessions.ts";
import type { McpOffers } from "./mcp-offers.ts";
import { offerTools } from "./offer-tools.ts";
import { loadSdk, MCP_SERVER_NAMES, type McpSender, type McpServerOptions } from "./options.ts";
import { isSubscribed, peerServer, templateMatcher } from "./peer-server.ts";
import type { ClientCapabilities, McpInputRequest } from "./runs/input-requests.ts";
import { PendingRuns, Runs } from "./runs/runs.ts";
import { type McpStdio, type StdioStreams, serveStdio } from "./serve-stdio.ts";
import type { EndOfCall } from "./tool-handlers.ts";

type OfferOptions = Pick<McpServerOptions, "imported" | keyof McpOffers>;

/** How many streams one principal may listen on. The SDK bounds their total. */
const MAX_OF_PRINCIPAL = 32;

/** Counts the streams of `subscriptions/listen`, so that no principal uses up the slots of the others. */
class Listeners {
  /** The ids of principals. Without a reference, a request would not be aborted with the connection. */
  readonly #open = new Map<Request, string>();

  /**
   * Counts a stream until its request is aborted. Returns `false` if the principal has too many.
   *
   * @param principal Its id.
   */
  begin(principal: string, request: Request): boolean {
    let own = 0;
    for (const each of this.#open.values()) if (each === principal) own++;
    if (own >= MAX_OF_PRINCIPAL) return false;
    if (request.signal.aborted) return true;
    this.#open.set(request, principal);
    request.signal.addEventListener("abort", () => this.#open.delete(request), { once: true });
    return true;
  }
}

/** The client of a call, which its tool can ask. */
export interface McpClient {
  /** What the client declared that it can do, by name, such as `elicitation`. Not to be trusted. */
  readonly capabilities: ClientCapabilities;
  /**
   * Asks the client, and waits for all its responses. The wall time of the call is not stopped: use
   * `context.ask` to ask a person without using it up. A response has the form that its method prescribes,
   * and a form's content matches its `requestedSchema`; nothing else about it is checked.
   *
   * @param requests At most 16, by keys of letters, digits and `_.-`. A form must not ask for secrets.
   * @param signal Withdraws the requests.
   * @throws {TypeError} as a rejection, if a request is invalid, and an `Error` if the client cannot be
   *   asked.
   */
  ask(
    requests: Readonly<Record<string, McpInputRequest>>,
    signal?: AbortSignal,
  ): Promise<Readonly<Record<string, JsonObject>>>;
  /**
   * Reports the progress of the call to the client, if it asked for that, with unchanged figures. From then
   * on, output given to `context.onOutput` is no longer reported as progress.
   */
  progress(report: McpProgress): void;
}

/** A server of MCP: tools, resources and prompts for clients, over HTTP and stdio. {@link openMcpServer} opens it. */
export class McpServer implements AsyncDisposable {
  readonly #parts: ServerParts;
  readonly #clients: ClientSessions;
  readonly #legacy: LegacySessions;
  readonly #modern: McpHttpHandler;
  readonly #stdio = new Set<McpStdio>();
  readonly #listeners = new Listeners();
  /**
   * The source requests, by the requests that follow their signals: they stop doing so when either is
   * garbage-collected.
   */
  readonly #sources = new WeakMap<Request, Request>();
  #isClosed = false;

  /** @internal */
  constructor(parts: ServerParts) {
    this.#parts = parts;
    this.#clients = new ClientSessions(parts.options);
    this.#legacy = new LegacySessions(parts, this.#clients);
    this.#modern = parts.sdk.createMcpHandler(
      ({ authInfo }) => this.#modernServer(authInfo?.extra as unknown as ServedRequest),
      { legacy: "reject", onerror: (error) => parts.options.onProblem?.(error.message) },
    );
  }

  #modernServer({ principal, ended }: ServedRequest): SdkServer {
    return peerServer(this.#parts, true, () => this.#clients.shared(principal), ended);
  }

  /**
   * Responds to a request over HTTP, of either wire. It must have passed the checks of `Host` and `Origin`, and its sender must
   * be authenticated. Its signal must be aborted when the connection is closed, or the response was sent.
   *
   * @returns the response. Never rejects for what a client sends.
   */
  async fetch(request: Request, { principal }: McpSender = {}): Promise<Response> {
    let body: JsonObject | undefined;
    if (request.method === "POST") {
      const read = await readBody(request, this.#parts.sdk);
      if (read instanceof Response) return read;
      body = read.message;
    }
    const response = await this.#respond(request, body, principal);
    return body?.["method"] === undefined ? response : withId(response, body["id"]);
  }

  async #respond(
    request: Request,
    body: JsonObject | undefined,
    principal: Principal | undefined,
  ): Promise<Response> {
    if (this.#isClosed) return errorResponse(503, -32_603, "The server is shutting down");
    const { sdk } = this.#parts;
    const { method, url, signal } = request;
    const headers = acceptingBoth(request.headers);
    // The body was read: the SDK gets the parsed one.
    const bare = new Request(url, { method, headers, signal });
    this.#sources.set(bare, request);
    if (await sdk.isLegacyRequest(bare, body)) return this.#legacy.handle(bare, principal, body);
    const refused =
      this.#refuseListening(bare, body, principal) ?? (await this.#refuseParams(bare, body, principal));
    if (refused !== undefined) return refused;
    return this.#modern.fetch(bare, {
      authInfo: authInfoOf({ principal }),
      ...(body !== undefined && { parsedBody: body }),
    });
  }

  /**
   * Responds to a call faster than {@link fetch}, if nothing about its request is special.
   *
   * @returns the JSON text of the response, or a response; `undefined` if the request is one for {@link fetch}.
   * @internal
   */
  async call(posted: PostedMessage, { principal }: McpSender = {}): Promise<string | Response | undefined> {
    if (this.#isClosed) return undefined;
    if (posted.header("mcp-session-id") !== null) return this.#legacy.call(posted, principal);
    return callDirectly(this.#parts, posted, {
      session: () => this.#clients.shared(principal),
      write: (request, parsedBody, ended) =>
        this.#modern.fetch(request, { authInfo: authInfoOf({ principal, ended }), parsedBody }),
    });
  }

  #refuseListening(
    request: Request,
    body: JsonValue | undefined,
    principal: Principal | undefined,
  ): Response | undefined {
    if (!isJsonObject(body) || body["method"] !== "subscriptions/listen") return undefined;
    if (this.#listeners.begin(principal?.id ?? "", request)) return undefined;
    return errorResponse(429, -32_603, "There are too many subscriptions: end some first", body["id"]);
  }

  async #refuseParams(
    { headers }: Request,
    body: JsonValue | undefined,
    principal: Principal | undefined,
  ): Promise<Response | undefined> {
    if (!isJsonObject(body) || body["method"] !== "tools/call") return undefined;
    const { registry } = await this.#clients.shared(principal);
    const header = (name: string): string | null => headers.get(name);
    return refuseParamHeaders(body, header, (name) =>
      registry.has(name) ? registry.get(name).inputSchema : undefined,
    );
  }

  /**
   * Serves one client over standard input and output, or other streams. The wire is that of its first message.
   *
   * @param streams Default: those of the process. Nothing else may write to the output.
   */
  serveStdio({ principal }: McpSender = {}, streams: Partial<StdioStreams> = {}): McpStdio {
    const stdio = serveStdio(this.#parts, () => this.#clients.open(principal), streams);
    this.#stdio.add(stdio);
    stdio.closed.finally(() => this.#stdio.delete(stdio));
    return stdio;
  }

  /** The client of a call; `undefined` if the call is not one of a client of this server. */
  clientOf({ turnId, callId }: Pick<HostContext, "turnId" | "callId">): McpClient | undefined {
    // Calls of tools are in the same turn: their tools have not been offered to the client.
    const run = turnId === callId ? this.#parts.runs.of(turnId) : undefined;
    return (
      run && {
        capabilities: run.capabilities,
        ask: (requests, signal) => run.ask(requests, signal),
        progress: (report) => this.#parts.runs.progress(run, report),
      }
    );
  }

  /** Tells clients that the tools have changed. */
  toolsChanged(): void {
    const { registry } = this.#parts.options;
    // If all tools were replaced, those of resources and prompts are gone.
    for (const tool of offeredTools(this.#parts)) if (!registry.has(tool.name)) registry.register(tool);
    this.#modern.notify.toolsChanged();
    this.#notifyLegacy((server) => server.sendToolListChanged());
  }

  /** Tells clients that the prompts have changed. */
  promptsChanged(): void {
    this.#modern.notify.promptsChanged();
    this.#notifyLegacy((server) => server.sendPromptListChanged());
  }

  /** Tells clients that the list of resources has changed. */
  resourcesChanged(): void {
    this.#modern.notify.resourcesChanged();
    this.#notifyLegacy((server) => server.sendResourceListChanged());
  }

  /** Tells the clients that are subscribed to a resource that it has changed. */
  resourceUpdated(uri: string): void {
    this.#modern.notify.resourceUpdated(uri);
    this.#notifyLegacy((server) =>
      isSubscribed(server, uri) ? server.sendResourceUpdated({ uri }) : Promise.resolve(),
    );
  }

  #notifyLegacy(notify: (server: SdkServer) => Promise<void>): void {
    const stdio = [...this.#stdio].flatMap((each) => each.servers());
    // Clients that do not listen get no notification.
    for (const server of [...this.#legacy.servers(), ...stdio]) notify(server).catch(() => {});
  }

  /** Waits until no call of a client is under way. */
  idle(): Promise<void> {
    return this.#parts.runs.idle();
  }

  /** Cancels the calls of all clients, and closes their connections and sessions. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const { pending, runs, options } = this.#parts;
    pending.close();
    await runs.close();
    await Promise.allSettled([
      ...Array.from(this.#stdio, (each) => each.close()),
      this.#modern.close(),
      this.#legacy.close(),
    ]);
    await this.#clients.close();
    for (const { name } of offeredTools(this.#parts)) options.registry.unregister(name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/**
 * Opens a server of MCP over sessions: what a client calls goes through their whole pipeline. See `docs/mcp-server.md`.
 *
 * @throws {TypeError} as a rejection, if an option is invalid or the package `@modelcontextprotocol/server` is not installed, and
 *   `DuplicateToolError` if the registry has other tools with the names of those that it adds.
 */
export async function openMcpServer(options: McpServerOptions): Promise<McpServer> {
  refuseUnknown(options, MCP_SERVER_NAMES, "openMcpServer");
  const { searchAbove = 0 } = options;
  if (!Number.isInteger(searchAbove) || searchAbove < 0)
    throw new TypeError("searchAbove of openMcpServer must be a whole number of tools, 0 or more");
  const sdk = await loadSdk();
  const { info = { name: "sandgate", version: "0.1.0" } } = options;
  await new ClientSessions(options).closeLeft();
  const runs = new Runs(options);
  const parts = { sdk, options, info, runs, pending: new PendingRuns(), offers: allOffers(options) };
  for (const tool of offeredTools(parts)) options.registry.register(tool);
  return new McpServer(parts);
}

/**
 * Adds the media types of responses that a client accepts without naming them: by a range, or by sending no `accept` (RFC 9110,
 * section 12.5.1). The SDK looks for both names.
 */
function acceptingBoth(given: Headers): Headers {
  const accept = given.get("accept") ?? "*/*";
  const types = accept.split(",").map((each) => each.split(";", 1)[0]?.trim().toLowerCase() ?? "");
  const named = ["application/json", "text/event-stream"].filter((type) =>
    types.some((each) => each === "*/*" || each === `${type.split("/", 1)[0]}/*`),
  );
  if (named.length === 0) return given;
  const headers = new Headers(given);
  headers.set("accept", [...types, ...named].join(", "));
  return headers;
}

/** Adds the id of the request to an error that names none. */
async function withId(response: Response, id: JsonValue | undefined): Promise<Response> {
  const type = response.headers.get("content-type") ?? "";
  if (response.ok || id === undefined || !type.startsWith("application/json")) return response;
  const { status, headers } = response;
  const text = await response.text();
  const body = JSON.parse(text) as JsonValue;
  const isNameless = isJsonObject(body) && isJsonObject(body["error"]) && (body["id"] ?? null) === null;
  return new Response(isNameless ? JSON.stringify({ ...body, id }) : text, { status, headers });
}

/** The context of a request on the wire without sessions. */
interface ServedRequest {
  readonly principal: Principal | undefined;
  /** The end of its call, if the SDK has only to write the response. */
  readonly ended?: EndOfCall;
}

function authInfoOf(served: ServedRequest): AuthInfo {
  return { token: "", clientId: served.principal?.id ?? "", scopes: [], extra: { ...served } };
}

function offeredTools(parts: ServerParts) {
  const { options } = parts;
  return hasOffers(options) ? offerTools(parts.offers, templateMatcher(parts), ClientSessions.owns) : [];
}

/** Whether a server has resources or prompts, or may have them. */
function hasOffers({ resources, resourceTemplates, prompts, imported }: OfferOptions): boolean {
  return [resources, resourceTemplates, prompts, imported].some((each) => each !== undefined);
}

/** What a server offers: its own, and then what imported servers offer. A list that it does not have is `undefined`. */
function allOffers(own: OfferOptions): McpOffers {
  if (own.imported === undefined) return own;
  const { imported } = own;
  return {
    get resources() {
      return [...(own.resources ?? []), ...(imported().resources ?? [])];
    },
    get resourceTemplates() {
      return [...(own.resourceTemplates ?? []), ...(imported().resourceTemplates ?? [])];
    },
    get prompts() {
      return [...(own.prompts ?? []), ...(imported().prompts ?? [])];
    },
  };
}
