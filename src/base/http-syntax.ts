/**
 * `CONNECT` opens a tunnel to any address; `TRACE` and `TRACK` return the request's headers, which may contain
 * credentials, in the body.
 */
const METHOD = /^(?!(?:CONNECT|TRACE|TRACK)$)[A-Z][A-Z0-9_-]*$/;

/**
 * Methods that do not ask the server for a change (RFC 9110, section 9.2.1), and `QUERY`. `TRACE` is safe as
 * well, but no tool can use it.
 */
export const SAFE_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS", "QUERY"]);

/** Headers that apply to one connection (RFC 9110, section 7.6.1) or describe the length of the body. */
const CONNECTION_HEADERS: ReadonlySet<string> = new Set([
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

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Whether a text is a token (RFC 9110, section 5.6.2), as methods and header names are. */
export function isToken(text: string, maxLength: number = Number.POSITIVE_INFINITY): boolean {
  return text.length <= maxLength && TOKEN.test(text);
}

/** A header's value, each byte as one character (RFC 9110, section 5.5). */
export const HEADER_VALUE: RegExp = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Returns why a tool's request cannot have a header, or `undefined` if it can. The text does not quote the value. */
export function headerProblem(name: string, value: string): string | undefined {
  if (!isToken(name)) return `${JSON.stringify(name)} is not a valid header name`;
  if (CONNECTION_HEADERS.has(name.toLowerCase()))
    return `the header '${name}' is controlled by the connection and cannot be set`;
  return HEADER_VALUE.test(value)
    ? undefined
    : `the header '${name}' has characters that are not allowed in a header`;
}

/** Returns why a tool's request cannot use a method, or `undefined` if it can. */
export function methodProblem(method: string): string | undefined {
  return METHOD.test(method) ? undefined : `the method ${JSON.stringify(method)} is not allowed`;
}

/**
 * Headers, in lower case, that are for one connection only (RFC 9110, section 7.6.1) or that belong to the sender of a
 * request: a guest must not set them, and a proxy does not pass them on.
 */
export const HOP_BY_HOP_HEADERS: ReadonlySet<string> = new Set([
  "connection",
  "expect",
  "host",
  "http2-settings",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/**
 * Whether a host is this machine's loopback interface (RFC 1122, section 3.2.1.3; RFC 4291, section 2.5.3).
 *
 * @param host As in an address or, with brackets, in a URL.
 */
export function isLoopbackHost(host: string): boolean {
  return /^(?:localhost|127(?:\.[0-9]{1,3}){3}|::1|\[::1\])$/.test(host);
}
