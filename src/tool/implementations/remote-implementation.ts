import type { JsonValue } from "../../json/value.ts";
import type { McpImplementation } from "./mcp-implementation.ts";

/**
 * A tool that runs in another process: behind an endpoint of your own, behind any HTTP endpoint, behind whatever URL a call
 * names, on executors, or in an MCP server.
 */
export type RemoteImplementation =
  | EndpointImplementation
  | { readonly http: HttpImplementation }
  | { readonly web: WebImplementation }
  | ExecutorImplementation
  | McpImplementation;

/**
 * A tool behind an endpoint of your own. Each call is a `POST` of the JSON `{ id, name, session, arguments }`. The body
 * of a response with a status from 200 to 299 is the output as JSON. Redirects are not followed. The call needs no `net`
 * grant, since the URL is part of your program.
 */
export interface EndpointImplementation {
  /** An `http:` or `https:` URL without credentials. */
  readonly url: string | URL;
}

/**
 * Any HTTP endpoint as a tool. The grant must name the endpoint's origin (`net`) and every secret (`secrets`).
 * See docs/http-tools.md.
 */
export interface HttpImplementation {
  /** The HTTP method, in upper case. Default: `GET`. */
  readonly method?: string;
  /**
   * A URI template (RFC 6570) that is expanded with the arguments, such as
   * `https://api.example.com/users/{user}{?page}`. Scheme, host and port cannot be expanded.
   */
  readonly url: string;
  /** Header values, in which `{name}` is replaced by an argument and `{secret:NAME}` by a secret. */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * The body as JSON, in which each string `{name}` is replaced by that argument. Default: for POST, PUT and PATCH, the
   * arguments that the URL and the headers do not use; for other methods, no body.
   */
  readonly body?: JsonValue;
  readonly response?: HttpResponseRules;
  /** The most redirects that are followed, all to granted origins. With the default 0, a redirect fails the call. */
  readonly maxRedirects?: number;
}

/**
 * A request to the URL in the argument `url`: with POST, of the text in `body` with the media type in `contentType`, by
 * default `application/json`. The grant must name the URL's origin (`net`), and with GET that of each redirect, of which at
 * most five are followed; POST follows none. The output is `{ url, status, contentType, text }` of a response that is text.
 */
export interface WebImplementation {
  readonly method: "GET" | "POST";
}

/** How the output is read from a response. Default: the whole body as JSON. */
export interface HttpResponseRules {
  /** A JSON pointer (RFC 6901) to the part of the body that is the output. Default: the whole body. */
  readonly pointer?: string;
  /** Whether the body is text. The output is then a string. Default: `false`. */
  readonly text?: boolean;
  /**
   * How to treat a number that a double cannot hold, such as `9007199254740993`: fail the call, or give the number as a
   * string of its digits. Default: `"refuse"`.
   */
  readonly bigNumbers?: "refuse" | "string";
}

/** A tool that runs on executors: other Sandgate processes, started with `sandgate serve` or `startExecutor`. */
export interface ExecutorImplementation {
  /**
   * `http:` or `https:` URLs without credentials, or `unix:/PATH`. With several executors, a call goes to the one with
   * the fewest calls in flight. It is retried on another one only if it cannot have started.
   */
  readonly executor: string | URL | readonly (string | URL)[];
}

/** Whether a tool runs on executors, rather than behind an endpoint. */
export function isExecutorImplementation(
  remote: RemoteImplementation | undefined,
): remote is ExecutorImplementation {
  return remote !== undefined && "executor" in remote && remote.executor !== undefined;
}

/** Whether a tool is one of an MCP server. */
export function isMcpImplementation(remote: RemoteImplementation | undefined): remote is McpImplementation {
  return remote !== undefined && "mcp" in remote && remote.mcp !== undefined;
}
