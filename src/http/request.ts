import { isUtf8 } from "node:buffer";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { remoteProblem } from "../remote-protocol/problems.ts";

/** Bytes that are reserved for a body of which only a part has arrived, at least. */
const FIRST_BYTES = 16_384;

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

/**
 * Reads a body. The parser ensures that it is not longer than its length. If the connection closes before its
 * end, `take` is never called.
 *
 * @param bytes The length returned by {@link bodyLength}.
 * @param reserve Reserves memory for bytes that have arrived: bytes that were only announced are not charged.
 *   If it returns `false`, it has refused the request, and the remaining body is dropped.
 * @param take Called with the body as soon as its last byte arrives.
 */
export function readBody(
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
