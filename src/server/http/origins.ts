import type { IncomingMessage, ServerResponse } from "node:http";
import { remoteProblem } from "../../remote-protocol/problems.ts";

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
