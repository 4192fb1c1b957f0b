import { EgressError } from "./egress-error.ts";

/** `CONNECT` makes a tunnel to anywhere, `TRACE` shows a response's reader the request's headers. */
const METHOD = /^(?!(?:CONNECT|TRACE|TRACK)$)[A-Z][A-Z0-9_-]*$/;

/** What is between this process and the next one on the way (RFC 9110, section 7.6.1), and how long a body is. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "expect",
  "host",
  "http2-settings",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** A token (RFC 9110, section 5.6.2). */
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** A field value (RFC 9110, section 5.5). */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Why a header cannot be sent, or `undefined`. Its value is not repeated. */
export function headerProblem(name: string, value: string): string | undefined {
  if (!NAME.test(name)) return `${JSON.stringify(name)} is no name of a header`;
  if (OWN_HEADERS.has(name.toLowerCase())) return `the header '${name}' is set by the connection`;
  return VALUE.test(value) ? undefined : `the header '${name}' has characters that a header cannot have`;
}

/** Why a method cannot be used, or `undefined`. */
export function methodProblem(method: string): string | undefined {
  return METHOD.test(method) ? undefined : `the method ${JSON.stringify(method)} is not allowed`;
}

/**
 * Parses the URL of a request.
 *
 * @throws {EgressError} if it is invalid or has credentials.
 */
export function readUrl(text: string | URL): URL {
  const url = typeof text === "string" ? URL.parse(text) : text;
  if (url === null) throw new EgressError("request_invalid", "the URL cannot be parsed");
  if (url.username !== "" || url.password !== "") {
    throw new EgressError("request_invalid", "the URL has credentials: send them in a header");
  }
  return url;
}

/** @throws {EgressError} if the method is not allowed. */
export function checkMethod(method: string): void {
  const problem = methodProblem(method);
  if (problem !== undefined) throw new EgressError("request_invalid", problem);
}

/** The sizes of checked headers that are frozen: most tools send the same object with each call. */
const checkedSizes = new WeakMap<object, number>();

/**
 * Checks headers, and returns their size in bytes as HTTP/1.1 writes them.
 *
 * @throws {EgressError} if a header cannot be sent.
 */
export function headersSize(headers: Readonly<Record<string, string>>): number {
  let bytes = checkedSizes.get(headers);
  if (bytes !== undefined) return bytes;
  bytes = 0;
  for (const [name, value] of Object.entries(headers)) {
    const problem = headerProblem(name, value);
    if (problem !== undefined) throw new EgressError("request_invalid", problem);
    bytes += name.length + value.length + 4;
  }
  if (Object.isFrozen(headers)) checkedSizes.set(headers, bytes);
  return bytes;
}
