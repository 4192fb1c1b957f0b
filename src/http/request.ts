import { isUtf8 } from "node:buffer";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import type { FairBudget } from "../base/fair-budget.ts";
import { remoteProblem } from "../remote-protocol/problems.ts";
import { matchesContentDigest } from "../remote-protocol/signatures/base.ts";
import type { Sender } from "./authentication.ts";

/** Bytes that are reserved for a body of which only a part has arrived, at least. */
const FIRST_BYTES = 16_384;

/** A request, and the response that a route writes. */
export interface Incoming {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** Matches a host with an optional port, but nothing that a URL parser would read differently. */
const AUTHORITY = /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?$/;

/** Refuses requests that a web page made a browser send (DNS rebinding). */
export class HostCheck {
  readonly #names: ReadonlySet<string> | undefined;

  /**
   * @param names Hosts with their ports, in lower case; `undefined` to accept all, for a unix socket, which
   *   browsers cannot reach.
   */
  constructor(names: readonly string[] | undefined) {
    this.#names = names === undefined ? undefined : new Set(names.filter((name) => AUTHORITY.test(name)));
  }

  /**
   * Checks the headers `host` and `origin`.
   *
   * @returns the host, in lower case.
   * @throws {RequestRefusal} `bad_request` if the host is missing or malformed; `misdirected` if it is not a
   *   name of the executor, or there is an `origin`.
   */
  check({ host = "", origin }: IncomingHttpHeaders): string {
    if (origin !== undefined)
      throw remoteProblem("misdirected", "an executor does not accept requests from browsers");
    if (this.#names?.has(host)) return host;
    const authority = host.toLowerCase();
    if (!AUTHORITY.test(authority)) {
      throw remoteProblem(
        "bad_request",
        "the host header must be a single host, with the port unless it is the scheme's default",
      );
    }
    if (this.#names?.has(authority) !== false) return authority;
    throw remoteProblem(
      "misdirected",
      "the host header is not a name of this executor: see its option 'hosts'",
    );
  }
}

const METHODS = "GET, POST, PUT, PATCH, DELETE";
const REQUEST_HEADERS =
  "authorization, content-type, content-digest, last-event-id, mcp-method, mcp-name, mcp-protocol-version, mcp-session-id, signature, signature-input";
const PREFLIGHT_S = "600";

/** What an origin must be, for messages. */
export const ORIGIN_FORM =
  "must be a scheme, a host and optionally a port, such as https://console.example.com";

/** The origins of the pages that may use the server from a browser. */
export class Origins {
  readonly #origins: ReadonlySet<string>;
  readonly #allowsOwn: boolean;

  /**
   * @param allowsOwn Whether pages of the server itself may use it.
   * @throws {TypeError} if one is not an origin, such as `https://console.example.com`.
   */
  constructor(origins: readonly string[], allowsOwn = false) {
    this.#allowsOwn = allowsOwn;
    for (const origin of origins) {
      if (!isOrigin(origin)) throw new TypeError(`the origin '${origin}' ${ORIGIN_FORM}`);
    }
    this.#origins = new Set(origins);
  }

  /**
   * Checks the origin of a request, and allows its page to read the response.
   *
   * @throws {RequestRefusal} `misdirected` unless the request has no origin, or one of these.
   */
  check({ headers }: IncomingMessage, response: ServerResponse): void {
    const { origin, host } = headers;
    if (this.#origins.size > 0) response.setHeader("vary", "origin");
    if (origin === undefined || (this.#allowsOwn && isOwnOrigin(origin, host))) return;
    if (!this.#origins.has(origin)) {
      throw remoteProblem("misdirected", "the server does not accept requests of this origin");
    }
    response.setHeader("access-control-allow-origin", origin);
    response.setHeader("access-control-expose-headers", "mcp-session-id");
  }

  /** Responds to the request with which a browser asks whether a page may send another one. */
  static preflight(response: ServerResponse): void {
    response.writeHead(204, {
      "access-control-allow-methods": METHODS,
      "access-control-allow-headers": REQUEST_HEADERS,
      "access-control-max-age": PREFLIGHT_S,
    });
    response.end();
  }
}

/**
 * Whether an origin is that of a request's host.
 *
 * @param host The header, which has been checked.
 */
export function isOwnOrigin(origin: string, host: string | undefined): boolean {
  const authority = host?.toLowerCase() ?? "";
  return authority !== "" && (origin === `http://${authority}` || origin === `https://${authority}`);
}

/** Whether a text is an origin. */
export function isOrigin(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && url.origin === text;
}

/** Removes the base path from the target of a request, unless a proxy has removed it already. */
export function stripBasePath(request: IncomingMessage, basePath: string): void {
  const { url = "" } = request;
  if (basePath !== "" && url.startsWith(`${basePath}/`)) request.url = url.slice(basePath.length);
}

/** Of these, Node.js uses the first. */
const SINGLE: readonly string[] = ["host", "authorization"];

/**
 * Refuses a request with several headers `host` (RFC 9112, section 3.2) or `authorization`: Node.js uses the first, but an
 * intermediary may have used another one.
 *
 * @throws {RequestRefusal} `bad_request`.
 */
export function refuseRepeated({ rawHeaders }: IncomingMessage): void {
  const seen = new Set<string>();
  // `rawHeaders` alternates names and values.
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length !== 4 && name?.length !== 13) continue;
    const lower = name.toLowerCase();
    if (!SINGLE.includes(lower)) continue;
    if (seen.has(lower)) throw remoteProblem("bad_request", `the request must have only one ${lower} header`);
    seen.add(lower);
  }
}

/** Returns the names of the loopback interface, with a port. */
export function loopbackNames(port: number): readonly string[] {
  return ["localhost", "127.0.0.1", "[::1]"].map((host) => `${host}:${port}`);
}

/**
 * Returns the length of a request's body.
 *
 * @throws {RequestRefusal} `length_required` or `too_large`.
 */
export function bodyLength({ headers }: IncomingMessage, maxBytes: number): number {
  const length = headers["content-length"];
  // The parser has checked that it is a number, and that there is no `transfer-encoding`.
  if (length === undefined) throw remoteProblem("length_required", "the request must have a content-length");
  const bytes = Number(length);
  if (bytes <= maxBytes) return bytes;
  throw remoteProblem("too_large", `the body must have at most ${maxBytes} bytes`);
}

/** A body that is read within the memory for bodies, which callers share. */
export interface Receiving extends Incoming {
  /** The length returned by {@link bodyLength}. */
  readonly bytes: number;
  readonly bodies: FairBudget;
  /** For whom the bytes count until the response has been sent, or the connection is closed. */
  readonly caller: string;
  /** Called in place of `take` if there is no room. The remaining body is dropped. */
  readonly refuse: () => void;
}

/**
 * Reads the body of a request. If the connection closes before its end, `take` is never called.
 *
 * @param take Called with the body as soon as its last byte arrives.
 */
export function receive(
  { request, response, bytes, bodies, caller, refuse }: Receiving,
  take: (body: Buffer) => void,
): void {
  let reserved = 0;
  response.on("close", () => {
    bodies.release(caller, reserved);
    reserved = 0;
  });
  const reserve = (more: number): boolean => {
    const hasRoom = bodies.acquire(caller, more);
    if (hasRoom) reserved += more;
    else refuse();
    return hasRoom;
  };
  readBody(request, bytes, reserve, take);
}

/**
 * Checks the digest of a body, which a signed request must have.
 *
 * @throws {RequestRefusal} `altered` unless it matches.
 */
export function checkDigest(
  { headers }: IncomingMessage,
  { isSigned }: Pick<Sender, "isSigned">,
  body: Buffer,
  message = "the body does not match the content-digest header",
): void {
  const digest = headers["content-digest"];
  if ((isSigned || digest !== undefined) && !matchesContentDigest(String(digest), body))
    throw remoteProblem("altered", message);
}

/**
 * Reads a body. The parser ensures that it is not longer than its length. If the connection closes before its
 * end, `take` is never called.
 *
 * @param bytes The length returned by {@link bodyLength}.
 * @param reserve Reserves memory for bytes that have arrived: bytes that were only announced are not charged.
 *   If it returns `false`, it has refused the request, and the remaining body is dropped.
 * @param take Called with the body as soon as its last byte arrives.
 */
function readBody(
  request: IncomingMessage,
  bytes: number,
  reserve: (bytes: number) => boolean,
  take: (body: Buffer) => void,
): void {
  let body = Buffer.alloc(0);
  let length = 0;
  if (bytes === 0) {
    take(body);
    return;
  }
  const add = (chunk: Buffer): void => {
    const arrived = length + chunk.length;
    if (arrived > body.length) {
      // Most bodies arrive in one chunk, which need not be copied.
      const isWhole = chunk.length === bytes;
      const capacity = isWhole ? bytes : Math.min(bytes, Math.max(FIRST_BYTES, arrived * 2));
      if (!reserve(capacity - body.length)) {
        request.off("data", add).resume();
        return;
      }
      if (isWhole) {
        take(chunk);
        return;
      }
      const grown = Buffer.allocUnsafeSlow(capacity);
      body.copy(grown, 0, 0, length);
      body = grown;
    }
    chunk.copy(body, length);
    length = arrived;
    if (length === bytes) take(body);
  };
  request.on("data", add);
}

/** @throws {RequestRefusal} `bad_request` unless the body is UTF-8. */
export function decodeBody(body: Buffer): string {
  if (isUtf8(body)) return body.toString();
  throw remoteProblem("bad_request", "the body is not valid UTF-8");
}
