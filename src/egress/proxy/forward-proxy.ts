import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from "node:http";
import type { Socket } from "node:net";
import { pipeline } from "node:stream/promises";
import { HEADER_VALUE, HOP_BY_HOP_HEADERS } from "../../base/http-syntax.ts";
import type { NetGrant } from "../../policy/grant/net-grant.ts";
import type { Egress } from "../egress.ts";
import { EgressError, type EgressErrorCode, type Traffic } from "../egress-error.ts";
import { checkMethod, readUrl } from "../request.ts";
import { TrafficMeter } from "./traffic-meter.ts";
import { tunnel } from "./tunnel.ts";

/** The authority of a `CONNECT` request (RFC 9110, section 9.3.6): a host and a port. */
const AUTHORITY = /^(?:[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\]):[0-9]{1,5}$/;

const STATUS: Partial<Record<EgressErrorCode, number>> = {
  request_invalid: 400,
  origin_denied: 403,
  address_denied: 403,
  budget_exceeded: 403,
  connect_timeout: 504,
};

/** Texts for the program and for those who read its output. They name no addresses. */
const TEXTS: Partial<Record<EgressErrorCode, (origin: string) => string>> = {
  origin_denied: (origin) => `The grant of this call does not have the origin '${origin}' (net: [origin])`,
  address_denied: (origin) =>
    `The address of '${origin}' is not public, and the grant of this call does not have it`,
  budget_exceeded: () => "The network budget of this call (netBytes) is used up",
  name_not_resolved: (origin) => `The host of '${origin}' cannot be resolved`,
  connection_refused: (origin) => `'${origin}' refused the connection`,
  connect_timeout: (origin) => `'${origin}' did not accept a connection in time`,
};

/** The answer of a proxy that cannot pass a request on. */
interface Refusal {
  readonly status: number;
  readonly text: string;
  /** For operators, if the grant does not allow the request: it may name addresses. */
  readonly denied?: string;
}

/** Maximum number of connections of clients at once. */
const MAX_CONNECTIONS = 128;

/** Maximum number of requests of a connection that are answered or wait for it: pipelining is rare. */
const MAX_PIPELINED = 16;

/** Maximum number of bytes of a request's headers. */
const HEADER_BYTES = 32_768;

/** How many different refusals are reported. */
const MAX_REPORTED = 100;

/** The requests that a proxy may pass on. */
export interface ProxyOptions {
  /** Opens the egress when a request first needs it. */
  readonly openEgress: () => Promise<Egress>;
  /** Where requests may go. */
  readonly grants: readonly NetGrant[];
  /** Bytes that may be sent to servers and received from them in all, with everything that HTTP and TLS add. */
  readonly netBytes: number;
  /** Called once for each different text about a request that the grant does not allow. The texts are for operators. */
  readonly onDenied: (text: string) => void;
}

/**
 * An HTTP proxy (RFC 9110, section 7.6) for the clients of one call: `CONNECT` for TLS, and requests with `http:` URLs. Each
 * request and each tunnel has a connection of its own to its origin, which the egress opens. Clients are not
 * authenticated, and everything that they send may be hostile.
 */
export class ForwardProxy {
  readonly #options: ProxyOptions;
  readonly #meter: TrafficMeter;
  readonly #clients = new Set<Socket>();
  /** Open connections of clients, and closed ones for which a connection to a server is still being opened. */
  #slots = 0;
  /** The requests of each connection. */
  readonly #turns = new WeakMap<Socket, { waiting: number; last: Promise<void> }>();
  readonly #closing = new AbortController();
  readonly #reported = new Set<string>();
  readonly #http: Server;

  constructor(options: ProxyOptions) {
    this.#options = options;
    this.#meter = new TrafficMeter(options.netBytes);
    this.#http = createServer({
      maxHeaderSize: HEADER_BYTES,
      insecureHTTPParser: false,
      // The time of the call bounds requests and idle connections.
      headersTimeout: 0,
      requestTimeout: 0,
      keepAliveTimeout: 0,
    });
    this.#http.on("request", (request, response) => this.#inTurn(request, response));
    this.#http.on("connect", (request: IncomingMessage, client: Socket, head: Buffer) => {
      // Answers to requests before it would come out of the tunnel.
      if (this.#turns.get(client)?.waiting) client.destroy();
      else this.#turns.set(client, { waiting: 1, last: this.#tunnel(request, client, head) });
    });
    this.#http.on("clientError", (_error, client: Socket) => {
      refuseTunnel(client, { status: 400, text: "The request is not valid HTTP/1.1\n" });
    });
  }

  /** Serves the connection of a client. */
  accept(client: Socket): void {
    if (this.#closing.signal.aborted || this.#slots >= MAX_CONNECTIONS) {
      client.destroy();
      return;
    }
    this.#slots++;
    this.#clients.add(client);
    client.once("close", () => void this.#leave(client)).on("error", () => {});
    client.allowHalfOpen = true;
    this.#http.emit("connection", client);
  }

  /** Releases the slot of a client only when its connection to a server is no longer being opened: clients could otherwise leave any number behind. */
  async #leave(client: Socket): Promise<void> {
    this.#clients.delete(client);
    try {
      await this.#turns.get(client)?.last;
    } finally {
      this.#slots--;
    }
  }

  /** The traffic with servers. */
  get traffic(): Traffic {
    return this.#meter.traffic;
  }

  /** Ends all connections. Idempotent. */
  close(): void {
    this.#closing.abort();
    for (const client of this.#clients) client.destroy();
  }

  /** Forwards the requests of a connection one after another: each of them uses a connection of this process. */
  #inTurn(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    if (socket.destroyed) return;
    const turn = this.#turns.get(socket) ?? { waiting: 0, last: Promise.resolve() };
    this.#turns.set(socket, turn);
    if (++turn.waiting > MAX_PIPELINED) {
      socket.destroy();
      return;
    }
    turn.last = turn.last.then(async () => {
      if (!socket.destroyed) await this.#forward(request, response);
      turn.waiting--;
    });
  }

  async #forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let url: URL | undefined;
    try {
      checkPlain(request);
      url = requestedUrl(request);
      await forward(request, response, url, await this.#connect(url), this.#meter);
    } catch (error) {
      const { status, text } = this.#refuse(error, url?.origin);
      // A response that has begun cannot be replaced: the client sees that it was cut off.
      if (response.headersSent) response.destroy();
      else response.writeHead(status, { connection: "close", "content-type": "text/plain" }).end(text);
    }
  }

  async #tunnel(request: IncomingMessage, client: Socket, head: Buffer): Promise<void> {
    let origin: URL | undefined;
    let hasBegun = false;
    try {
      origin = tunnelOrigin(request);
      const server = await this.#connect(origin);
      client.write("HTTP/1.1 200 Connection established\r\n\r\n");
      hasBegun = true;
      if (head.length > 0) client.unshift(head);
      await tunnel(client, server, origin, this.#meter);
    } catch (error) {
      const refusal = this.#refuse(error, origin?.origin);
      if (!hasBegun) refuseTunnel(client, refusal);
    }
  }

  async #connect(url: URL): Promise<Socket> {
    this.#meter.check(1);
    const { openEgress, grants } = this.#options;
    const egress = await openEgress();
    const server = await egress.connect({ url, grants, signal: this.#closing.signal });
    this.#meter.add(url.origin, server);
    return server;
  }

  #refuse(error: unknown, origin: string | undefined): Refusal {
    const refusal = refusalOf(error, origin);
    const { denied } = refusal;
    if (denied !== undefined && !this.#reported.has(denied) && this.#reported.size < MAX_REPORTED) {
      this.#reported.add(denied);
      this.#options.onDenied(denied);
    }
    return refusal;
  }
}

/** Answers on a connection that has no response object. */
function refuseTunnel(client: Socket, { status, text }: Refusal): void {
  if (!client.writable) {
    client.destroy();
    return;
  }
  client.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nconnection: close\r\ncontent-type: text/plain\r\n` +
      `content-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
  );
  // Unread bytes would have the kernel reset the connection, and with it the answer.
  client.resume();
}

/** @param origin Of the request's URL, if it has one. */
function refusalOf(error: unknown, origin: string | undefined): Refusal {
  if (!(error instanceof EgressError))
    return { status: 502, text: "The server did not send a valid response\n" };
  const { code, message } = error;
  const status = STATUS[code] ?? 502;
  const named = origin === undefined ? undefined : TEXTS[code]?.(origin);
  const text = `${named ?? (status === 400 ? sentence(message) : `'${origin}' cannot be reached`)}\n`;
  return { status, text, ...(status === 403 && { denied: message }) };
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/**
 * Returns the URL of a plain request to a proxy.
 *
 * @throws {EgressError} if it is not an absolute `http:` URL, or the `host` header names another host.
 */
function requestedUrl(request: IncomingMessage): URL {
  const { url: target = "" } = request;
  if (!/^http:\/\/[^/]/i.test(target))
    throw new EgressError(
      "request_invalid",
      "a proxy takes absolute http: URLs, and CONNECT for https: and for everything else",
    );
  const url = readUrl(target);
  checkHost(request, url);
  return url;
}

/**
 * Returns the origin to which a `CONNECT` request asks for a tunnel. All tunnels are for TLS.
 *
 * @throws {EgressError} if it does not have exactly a host and a port, or the `host` header names another host.
 */
function tunnelOrigin(request: IncomingMessage): URL {
  const { url: target = "" } = request;
  const url = AUTHORITY.test(target) ? URL.parse(`https://${target}`) : null;
  if (url === null) throw new EgressError("request_invalid", "CONNECT must be followed by HOST:PORT");
  checkHost(request, url);
  return url;
}

/** Servers, and proxies before them, may go by the header and not by the URL. HTTP/1.0 does not have it. */
function checkHost({ rawHeaders }: IncomingMessage, url: URL): void {
  const hosts = rawHeaders.filter(
    (_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === "host",
  );
  const isSame = hosts.every((host) => {
    const named = /^[^/?#@\\\s]+$/.test(host) ? URL.parse(`${url.protocol}//${host}`) : null;
    // Some clients leave out the port.
    return (
      named !== null && named.hostname === url.hostname && (named.port === url.port || named.port === "")
    );
  });
  if (hosts.length > 1 || !isSame)
    throw new EgressError("request_invalid", "the 'host' header must name the host of the request's URL");
}

/** Maximum number of bytes of a response's headers. */
const RESPONSE_HEADER_BYTES = 32_768;

/** @throws {EgressError} if a request cannot be passed on. */
function checkPlain({ method = "", headers }: IncomingMessage): void {
  checkMethod(method);
  // A server may ignore an offer of HTTP/2 (RFC 9113, section 3.1), but not what a WebSocket client needs.
  if (headers.upgrade !== undefined && headers.upgrade.toLowerCase() !== "h2c")
    throw new EgressError("request_invalid", "the proxy passes no protocol on but HTTP/1.1: use https");
  const coding = headers["transfer-encoding"];
  if (coding !== undefined && coding.toLowerCase() !== "chunked")
    throw new EgressError("request_invalid", "the proxy takes no transfer coding but 'chunked'");
}

/**
 * Sends a request over a connection of its own, and passes the response on. The message is serialised again,
 * so that the server reads exactly the request that was checked.
 *
 * @throws {Error} an {@link EgressError} if the budget is used up; otherwise the error of a stream.
 */
async function forward(
  request: IncomingMessage,
  response: ServerResponse,
  url: URL,
  server: Socket,
  meter: TrafficMeter,
): Promise<void> {
  // By default, Node.js would write the chunks of a GET as bytes after the request, which a server reads as another request.
  const isChunked = request.headers["transfer-encoding"] !== undefined;
  const framing = isChunked ? { "transfer-encoding": "chunked" } : {};
  try {
    const outgoing = httpRequest({
      // Node.js asks it for the socket only if no agent is given.
      createConnection: () => server,
      setHost: false,
      method: request.method ?? "",
      path: url.pathname + url.search,
      headers: { ...forwarded(request), ...framing, host: url.host, connection: "close" },
      maxHeaderSize: RESPONSE_HEADER_BYTES,
    });
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      outgoing.once("response", resolve).on("error", reject);
      // Informational responses are dropped, but count.
      outgoing.on("information", () => {
        try {
          meter.check(0);
        } catch (error) {
          outgoing.destroy(error as EgressError);
        }
      });
      response.once("close", () => outgoing.destroy(new EgressError("aborted", "the client has gone")));
    });
    const sent = pipeline(request, meter.sending(), outgoing);
    // A server may answer without reading the whole body.
    sent.catch(() => {});
    const incoming = await Promise.race([answered, sent.then(() => answered)]);
    meter.check(0);
    response.sendDate = false;
    response.writeHead(incoming.statusCode ?? 502, fieldsOf(incoming));
    await pipeline(incoming, meter.receiving(), response);
  } finally {
    server.destroy();
  }
}

/** The headers that are passed on, each with all its values. */
function forwarded(message: IncomingMessage): Record<string, string[]> {
  const { rawHeaders, headers } = message;
  const named = new Set((headers.connection ?? "").split(",").map((name) => name.trim().toLowerCase()));
  const passed: Record<string, string[]> = Object.create(null);
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = (rawHeaders[index] as string).toLowerCase();
    const value = rawHeaders[index + 1] as string;
    if (HOP_BY_HOP_HEADERS.has(name) || (named.has(name) && name !== "content-length")) continue;
    if (!HEADER_VALUE.test(value))
      throw new EgressError("request_invalid", `the header '${name}' has an invalid value`);
    passed[name] = [...(passed[name] ?? []), value];
  }
  return passed;
}

/** As a flat list, for a response. */
function fieldsOf(message: IncomingMessage): string[] {
  return Object.entries(forwarded(message)).flatMap(([name, values]) =>
    values.flatMap((value) => [name, value]),
  );
}
