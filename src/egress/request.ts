import type { NetGrant } from "../policy/grant/net-grant.ts";
import type { Traffic } from "./egress-error.ts";

/** A request that a tool, or Sandgate for a tool, wants to send. */
export interface EgressRequest {
  /** In upper case. `CONNECT` and `TRACE` are refused. */
  readonly method: string;
  /** An `http:` or `https:` URL without credentials. */
  readonly url: string | URL;
  /** By name. Those of the connection and of the body's length are refused: they are set here. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | undefined;
  /** Where the request may go: the `net` capability of the grant. */
  readonly grants: readonly NetGrant[];
  readonly limits: EgressLimits;
  /** Ends the exchange. */
  readonly signal?: AbortSignal | undefined;
  /**
   * How many redirects are followed, each to where the grant allows. Default: 0, so that a redirect is a
   * response like others.
   */
  readonly maxRedirects?: number;
  /** Names of further headers, in lower case, that no redirect takes to another origin. Default: none. */
  readonly credentialHeaders?: readonly string[];
}

/** What an exchange may use. */
export interface EgressLimits {
  /** Milliseconds for all of it: from finding the address to the last byte of the last response. */
  readonly timeoutMs: number;
  /** Bytes of a response's body, before and after it is decompressed. */
  readonly bodyBytes: number;
  /**
   * Bytes after which the body of a response that is no success (2xx) is cut, instead of refused; a compressed
   * one is left out then. Default: it is bounded as any body.
   */
  readonly failureBodyBytes?: number;
  /** Bytes that may be sent and received in all, heads included. Default: what the others come to. */
  readonly netBytes?: number | undefined;
  /** Milliseconds to the first byte of a response. Default: `timeoutMs`. */
  readonly firstByteTimeoutMs?: number;
  /** Milliseconds between two chunks of a body. Default: `timeoutMs`. */
  readonly betweenBytesTimeoutMs?: number;
}

/** The headers of a response: names in lower case, a list where a header was sent more than once. */
export type ResponseHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** A response that arrived whole. */
export interface EgressResponse {
  readonly status: number;
  readonly headers: ResponseHeaders;
  /** Decompressed. */
  readonly body: Buffer;
  /** Where it came from: the request's URL, or what it was redirected to. */
  readonly url: URL;
  readonly traffic: Traffic;
}
