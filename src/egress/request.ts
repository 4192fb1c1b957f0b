import type { Readable } from "node:stream";
import { headerProblem, methodProblem } from "../base/http-syntax.ts";
import type { NetGrant } from "../policy/grant/net-grant.ts";
import { EgressError, type Traffic } from "./egress-error.ts";

/** A request of a tool. */
export interface EgressRequest {
  /** In upper case. `CONNECT` and `TRACE` are refused. */
  readonly method: string;
  /** An `http:` or `https:` URL without credentials. */
  readonly url: string | URL;
  /** By name. Headers of the connection and of the body's length are refused: the egress sets them. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | undefined;
  /** Where the request may go: the `net` capability of the grant. */
  readonly grants: readonly NetGrant[];
  readonly limits: EgressLimits;
  /** Aborts the exchange. */
  readonly signal?: AbortSignal | undefined;
  /**
   * How many redirects are followed, each only if the grant allows it. Default: 0, which returns a redirect like any
   * other response.
   */
  readonly maxRedirects?: number;
  /** The names, in lower case, of other headers that are not sent to another origin after a redirect. Default: none. */
  readonly credentialHeaders?: readonly string[];
}

/** A connection over which the caller speaks HTTP or TLS itself. */
export interface ConnectRequest {
  /** An `http:` or `https:` URL. Only its origin is used. */
  readonly url: URL;
  /** Where the connection may go: the `net` capability of the grant. */
  readonly grants: readonly NetGrant[];
  /** Aborts connecting. */
  readonly signal: AbortSignal;
}

/** A budget of buffered bytes, which several bodies share. */
export interface BodyRoom {
  /** Bytes in use. */
  readonly bytes: number;
  /** Reserves bytes; `false` if there is no room for them now. */
  take(bytes: number): boolean;
  /** Waits until bytes can be reserved; `false` if they never can. */
  wait(bytes: number): Promise<boolean>;
  /** Replaces the reservations by the bytes that are really used. */
  settle(bytes: number): void;
}

/** The limits of an exchange. */
export interface EgressLimits {
  /** Milliseconds for the whole exchange, from name resolution to the last byte of the last response. */
  readonly timeoutMs: number;
  /** Bytes of a response's body, before and after it is decompressed. */
  readonly bodyBytes: number;
  /**
   * Bytes after which the body of an error response (not 2xx) is truncated instead of refused; a longer
   * compressed body is dropped. Default: error responses have the limit of other responses.
   */
  readonly failureBodyBytes?: number;
  /** Bytes that may be sent and received in total, with everything that HTTP and TLS add. Default: no limit of the total. */
  readonly netBytes?: number | undefined;
  /** The budget that the body is reserved from: reading pauses until there is room. Default: no such budget. */
  readonly room?: BodyRoom;
  /** Milliseconds to the first byte of a response. Default: `timeoutMs`. */
  readonly firstByteTimeoutMs?: number;
  /** Milliseconds between two chunks of a body. Default: `timeoutMs`. */
  readonly betweenBytesTimeoutMs?: number;
}

/** The headers of a response: names in lower case, a list if a header was sent more than once. */
export type ResponseHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** A complete response. */
export interface EgressResponse {
  readonly status: number;
  /** The reason phrase, of at most 256 characters; empty with HTTP/2, which has no reason phrases. */
  readonly statusText: string;
  readonly headers: ResponseHeaders;
  /** Decompressed. */
  readonly body: Buffer;
  /** The URL of the response, after redirects. */
  readonly url: URL;
  readonly traffic: Traffic;
}

/** A request whose response is read as it arrives. Its caller bounds how much is read and how long that may take. */
export interface StreamRequest
  extends Pick<EgressRequest, "method" | "url" | "headers" | "body" | "grants" | "signal"> {
  /** Milliseconds to the head of the response. */
  readonly headTimeoutMs: number;
}

/** A response whose head has arrived. */
export interface EgressStream {
  readonly status: number;
  readonly headers: ResponseHeaders;
  /** As it is sent: not decompressed. Read or destroy it. */
  readonly body: Readable;
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

/** The sizes of frozen headers that were checked: most tools send the same object with each call. */
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
