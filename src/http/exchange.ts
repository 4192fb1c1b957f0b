import type { IncomingMessage, ServerResponse } from "node:http";
import type { MiddlewareHandler } from "hono";
import { parseJson } from "../json/parse.ts";
import { problemIn, type Shape } from "../json/shape.ts";
import { JSON_MEDIA_TYPE } from "../remote-protocol/http.ts";
import { remoteProblem } from "../remote-protocol/problems.ts";
import type { RouteAccess } from "./access.ts";
import type { Sender } from "./authentication.ts";
import { Client, type Clients } from "./clients.ts";
import { ANSWERED, type BodyBudget, type Door, type Proven, UNKNOWN_YET } from "./door.ts";
import { badRequest, notFound, overloaded, revoked } from "./refusals.ts";
import { bodyLength, checkDigest, decodeBody, type Incoming, Origins, receive } from "./request.ts";
import { sendResponse, type UnreadBytes } from "./respond.ts";

/** The longest body that shows who sends it. */
const MAX_LOGIN_BYTES = 8_192;

/** The methods of operations. */
const METHODS: readonly string[] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

/**
 * Checks the host and the origin of a request.
 *
 * @returns the host; `undefined` for a preflight, which is answered.
 * @throws {RequestRefusal}
 */
export function passOrigin(
  { request, response }: Incoming,
  { hostCheck, origins }: Door,
): string | undefined {
  const { host = "", origin } = request.headers;
  const authority = hostCheck.check({ host });
  origins.check(request, response);
  if (request.method !== "OPTIONS" || origin === undefined) return authority;
  Origins.preflight(response);
  return undefined;
}

/**
 * Begins to serve the sender of a request, on a server with roles.
 *
 * @param clients Those of the server now.
 */
export function beginExchange(
  incoming: Incoming,
  { sender, ended }: Proven,
  door: Door,
  clients: Clients,
): Exchange {
  const isLogin = sender === UNKNOWN_YET;
  const client = isLogin ? new Client(sender, { roles: [] }) : clients.of(sender);
  const bodies = isLogin ? { ...door.bodies, maxBytes: MAX_LOGIN_BYTES } : door.bodies;
  const exchange = new Exchange(incoming, { sender, client, door }, bodies);
  door.requests.add(exchange);
  exchange.closed.addEventListener("abort", () => door.requests.delete(exchange), { once: true });
  if (ended !== undefined) endWith(exchange, ended);
  return exchange;
}

/** Ends the streams and unread bodies of a login with it. */
function endWith(exchange: Exchange, ended: AbortSignal): void {
  const revoke = (): void => exchange.revoke();
  ended.addEventListener("abort", revoke, { once: true });
  exchange.closed.addEventListener("abort", () => ended.removeEventListener("abort", revoke), { once: true });
}

/**
 * Returns what comes before the handler of a route: it checks host and origin, finds the sender by the proofs of the route, passes
 * an {@link Exchange} on, and sends the answer.
 *
 * @param unreadOf Where the bytes of an answer count until the client has read it.
 */
export function entering(
  door: Door,
  access: Pick<RouteAccess, "proofs">,
  unreadOf: (client: Client) => UnreadBytes,
): MiddlewareHandler<{ Bindings: Exchange }> {
  return async (context, next) => {
    const incoming = context.env as unknown as Incoming;
    const { request, response } = incoming;
    const authority = passOrigin(incoming, door);
    if (authority === undefined) return ANSWERED;
    const proven = await door.identify(request, authority, access);
    const { clients } = door;
    if (clients === undefined) throw new Error("a server with these routes has roles");
    const exchange = beginExchange(incoming, proven, door, clients);
    const { method = "GET", url = "/" } = request;
    if (!METHODS.includes(method)) throw notFound();
    // Proxies, logs and signatures have the path as it was sent: one with `..` would be another one for them.
    if (URL.parse(url, "http://server")?.pathname !== url.split("?", 1)[0]) throw notFound();
    context.env = exchange;
    await next();
    // A response to `HEAD` has no body.
    const answer = method === "HEAD" ? new Response(null, context.res) : context.res;
    answer.headers.set("cache-control", "no-store");
    // Any other request has had its effect, which a refusal would deny.
    const unread = method === "GET" ? unreadOf(exchange.client) : undefined;
    await sendResponse(answer, response, exchange.revoked, unread);
    return undefined;
  };
}

/** Why a request is aborted when its connection is closed. Shared, because every request ends so and a new error costs a stack. */
const CLOSED = new DOMException("The connection was closed", "AbortError");

/** A request of an authenticated client. Its body is read when the route asks for it, after the route's own checks. */
export class Exchange {
  readonly client: Client;
  readonly request: IncomingMessage;
  readonly sender: Sender;
  /** What the request passed. Its credentials and clients can be replaced while a body arrives. */
  readonly door: Pick<Door, "authentication" | "clients" | "admit">;
  readonly #bodies: BodyBudget;
  readonly #closing = new AbortController();
  readonly #revoking = new AbortController();
  readonly #response: ServerResponse;
  #bodyBytes = 0;

  constructor(
    { request, response }: Incoming,
    { sender, client, door }: Pick<Exchange, "sender" | "client" | "door">,
    bodies: BodyBudget,
  ) {
    this.door = door;
    this.request = request;
    this.client = client;
    this.sender = sender;
    this.#bodies = bodies;
    this.#response = response;
    response.on("close", () => this.#closing.abort(CLOSED));
  }

  /** Aborted when the response has been sent, or the connection is closed. */
  get closed(): AbortSignal {
    return this.#closing.signal;
  }

  /** Aborted when the client has lost rights since the request arrived; the reason is the response. */
  get revoked(): AbortSignal {
    return this.#revoking.signal;
  }

  /** Refuses the request if it has had no effect yet, and ends its stream of events. */
  revoke(): void {
    this.#revoking.abort(revoked());
  }

  /**
   * Reads the body as JSON.
   *
   * @throws {RequestRefusal} as a rejection, if it is too long, or not valid.
   */
  async read<Body>(shape: Shape<Body>): Promise<Body> {
    const parsed = parseJson(await this.readText([JSON_MEDIA_TYPE]));
    if (!("value" in parsed)) throw badRequest(`${parsed.reason} at position ${parsed.position}`);
    const problem = problemIn(shape, parsed.value);
    if (problem !== undefined) throw badRequest(problem);
    return parsed.value as Body;
  }

  /**
   * Reads the body as a text.
   *
   * @param mediaTypes Those that it may have.
   * @throws {RequestRefusal} as a rejection, if it is too long, or has another media type.
   */
  async readText(mediaTypes: readonly string[]): Promise<string> {
    const { "content-type": type = "", "content-encoding": encoding } = this.request.headers;
    const bytes = bodyLength(this.request, this.#bodies.maxBytes);
    const given = type.split(";", 1)[0]?.trim().toLowerCase() ?? "";
    if (!mediaTypes.includes(given) || encoding !== undefined) {
      throw remoteProblem(
        "unsupported_media_type",
        `the content-type header must be ${mediaTypes.join(" or ")}, without a content-encoding`,
      );
    }
    const body = await this.#readBytes(bytes);
    this.revoked.throwIfAborted();
    this.#bodyBytes = bytes;
    checkDigest(this.request, this.sender, body);
    return decodeBody(body);
  }

  /** The length of the body that was read. */
  get bodyBytes(): number {
    return this.#bodyBytes;
  }

  #readBytes(bytes: number): Promise<Buffer> {
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
    const close = (): void => reject(badRequest("the connection was closed"));
    const revoke = (): void => reject(this.revoked.reason);
    this.closed.addEventListener("abort", close);
    this.revoked.addEventListener("abort", revoke);
    const refuse = (): void => reject(overloaded("the server holds too many requests: retry later"));
    const { budget: bodies } = this.#bodies;
    const { name: caller } = this.client;
    receive({ request: this.request, response: this.#response, bytes, bodies, caller, refuse }, resolve);
    return promise.finally(() => {
      this.closed.removeEventListener("abort", close);
      this.revoked.removeEventListener("abort", revoke);
    });
  }
}
