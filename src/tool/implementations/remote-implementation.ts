import type { QueueOwner } from "../../base/fair-queue.ts";
import { isLoopbackHost } from "../../base/http-syntax.ts";
import type { TraceHeaders } from "../../base/trace-headers.ts";
import type { JsonObject, JsonValue } from "../../json/value.ts";
import { compileHeaders, compileUrl } from "../http-template.ts";
import type { LogLevel } from "../streamed.ts";
import type { PauseWallTime } from "../wall-time.ts";

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
   * What is added to the query, for names that a URI template cannot have: a map in which each string `{name}` is replaced by that
   * argument. A list becomes `a=1&a=2`, a map `a[b]=1`, a list of maps `a[0][b]=1`. Default: nothing.
   */
  readonly query?: JsonObject;
  /**
   * The body as JSON, in which each string `{name}` is replaced by that argument. Default: for POST, PUT and PATCH, the
   * arguments that the URL, the query and the headers do not use; for other methods, no body.
   */
  readonly body?: JsonValue;
  /**
   * How the body is written: as JSON, as `application/x-www-form-urlencoded` with the names of `query`, or as
   * `multipart/form-data`, in which maps are parts of JSON. For the last two, the body must be a map. Default: `"json"`.
   */
  readonly bodyFormat?: "json" | "form" | "multipart";
  readonly response?: HttpResponseRules;
  /**
   * Maximum number of redirects that are followed, all to granted origins. With the default 0, a redirect
   * fails the call.
   */
  readonly maxRedirects?: number;
}

/** How the output is read from a response. Default: the whole body as JSON. */
export interface HttpResponseRules {
  /** A JSON pointer (RFC 6901) to the part of the body that is the output. Default: the whole body. */
  readonly pointer?: string;
  /** Whether the body is text. The output is then a string. Default: `false`. */
  readonly text?: boolean;
  /**
   * How to treat a number that a double cannot represent, such as `9007199254740993`: fail the call, or give the number as a
   * string of its digits. Default: `"refuse"`.
   */
  readonly bigNumbers?: "refuse" | "string";
}

/**
 * A request to the URL in the argument `url`: with POST, of the text in `body` with the media type in `contentType`, by
 * default `application/json`. The grant must name the URL's origin (`net`), and with GET that of each redirect, of which at
 * most five are followed; POST follows none. The output is `{ url, status, contentType, text }` of a response that is text.
 */
export interface WebImplementation {
  readonly method: "GET" | "POST";
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

/** A tool of an MCP server. `openMcp` makes it; there is no way to write one down. */
export interface McpImplementation {
  readonly mcp: McpToolHandle;
}

/** A tool of an MCP server, with the connection to the server. */
export interface McpToolHandle {
  /** The definition as the server listed it, deeply frozen. */
  readonly listed: JsonObject;
  /** The current state of the server. */
  readonly state: McpServerState;
  /** Calls the tool. Never rejects. */
  call(args: JsonObject, options: McpCallOptions): Promise<McpCallEnd>;
  /** Returns what the digest of the tool's definition covers besides what the tool itself declares. */
  toJSON(): JsonObject;
}

/** The current state of an MCP server. */
export interface McpServerState {
  /** Whether there is a connection to it. */
  readonly isConnected: boolean;
  /** Whether it gets no calls for a while, since it did not answer several in a row. */
  readonly isPaused: boolean;
  /** How many calls it runs. */
  readonly running: number;
  /** How many calls wait for their turn. */
  readonly waiting: number;
  /** How many calls were not sent since others took all places. */
  readonly refusedBusy: number;
  /** How many calls were not sent since it was paused. */
  readonly refusedPaused: number;
}

/** Options of {@link McpToolHandle.call}. */
export interface McpCallOptions {
  /** Cancels the call, and notifies the server. */
  readonly signal: AbortSignal;
  /** Gets what the server reports while the call runs. Must not throw. */
  readonly onProgress?: (progress: McpProgress) => void;
  /** Gets what the server logs about the call. Must not throw. */
  readonly onLog?: (level: LogLevel, message: string) => void;
  /** Which call it is, so that its client can be found. Default: it has none. */
  readonly call?: McpCallIdentity;
  /** Whose call it is: principals and their sessions take turns if the server is busy. Default: nobody's. */
  readonly owner?: QueueOwner;
  /** Continues the trace of the call, as members of `_meta`. Default: it is not traced. */
  readonly trace?: TraceHeaders | undefined;
  /** Stops the call's wall time while a person answers. Default: it continues. */
  readonly pause?: PauseWallTime;
}

/** The ids of a call. */
export interface McpCallIdentity {
  readonly callId: string;
  readonly turnId?: string | undefined;
}

/** How far a call has come (MCP, "Progress"). */
export interface McpProgress {
  readonly progress: number;
  readonly total?: number | undefined;
  /** A text of the server. */
  readonly message?: string | undefined;
}

/** How a call of an MCP tool ended. Texts named `detail` are for operators. */
export type McpCallEnd =
  /** The server's `CallToolResult`, exactly and deeply frozen, without `resultType`. Its `content` is a list of objects. */
  | { readonly status: "result"; readonly result: JsonObject }
  /** The server answered with an error of JSON-RPC. `message` is its text. `refused`: it says that it did not call the tool. */
  | { readonly status: "error"; readonly message: string; readonly code: number; readonly refused: boolean }
  /** The answer is not one. `message` says why, and has nothing of the server. */
  | { readonly status: "malformed"; readonly message: string; readonly detail?: string }
  /** There is no connection, or it ended. `sent`: whether the server may have got the request. */
  | { readonly status: "unavailable"; readonly sent: boolean; readonly detail: string }
  /** It was not sent, since the server is busy or paused. `message` says so; `waitedMs`: how long it waited for its turn. */
  | {
      readonly status: "refused";
      readonly message: string;
      readonly detail: string;
      readonly waitedMs?: number;
    }
  /** The signal was aborted. */
  | { readonly status: "cancelled"; readonly sent: boolean };

/** What the grant of every call of a remote tool must name. */
interface RemoteNeeds {
  /** The origin of its requests. */
  readonly origin: string;
  /** The names of the secrets in its headers. */
  readonly secrets: readonly string[];
}

/** Returns what a registered remote tool needs; `undefined` if it needs nothing. */
export function remoteNeeds(remote: RemoteImplementation | undefined): RemoteNeeds | undefined {
  if (remote === undefined || !("http" in remote) || remote.http === undefined) return undefined;
  const { url, headers = {} } = remote.http;
  return { origin: compileUrl(url).origin, secrets: compileHeaders(headers).secrets };
}

/** The parsed address of an executor. */
export interface ExecutorAddress {
  /** The address in receipts: `https://executor.example:7420`, `unix:/run/sandgate.sock`. */
  readonly url: string;
  /** The origin of the requests; `http://localhost` for a unix socket. */
  readonly origin: string;
  /** The value of the header `host`. */
  readonly authority: string;
  /** The prefix of the protocol's paths, without a slash at the end; empty by default. */
  readonly basePath: string;
  readonly socketPath?: string;
  /** Whether no other machine can read the traffic: TLS, loopback or a unix socket. */
  readonly isPrivate: boolean;
}

/** Maximum number of executors of one tool; more can be put behind a load balancer. */
const MAX_EXECUTORS = 64;

/** Parses the `executor` of an implementation into unique addresses. Returns the problem if it is not valid. */
export function parseExecutors(executor: unknown): readonly ExecutorAddress[] | string {
  const urls: readonly unknown[] = Array.isArray(executor) ? executor : [executor];
  if (urls.length === 0 || urls.length > MAX_EXECUTORS) {
    return `executor must be a URL, or a list of 1 to ${MAX_EXECUTORS} URLs`;
  }
  const addresses = new Map<string, ExecutorAddress>();
  for (const url of urls) {
    const address = parseExecutor(url);
    if (typeof address === "string") return address;
    addresses.set(address.url, address);
  }
  return [...addresses.values()];
}

function parseExecutor(url: unknown): ExecutorAddress | string {
  if (typeof url !== "string" && !(url instanceof URL)) return "executor must be a URL, or a list of URLs";
  const [, socketPath] = /^unix:(?:\/\/)?(\/[^\0]+)$/.exec(String(url)) ?? [];
  if (socketPath !== undefined) {
    const [origin, authority] = ["http://localhost", "localhost"];
    return { url: `unix:${socketPath}`, origin, authority, basePath: "", socketPath, isPrivate: true };
  }
  if (!URL.canParse(String(url))) return "executor must be an absolute URL";
  const { protocol, host, hostname, origin, username, password, pathname, search, hash } = new URL(url);
  if (protocol !== "http:" && protocol !== "https:") return "executor must be http:, https: or unix:/PATH";
  // Credentials would be shown wherever the URL is.
  if (username !== "" || password !== "") {
    return "executor must not contain credentials: pass them to openSandboxes";
  }
  if (search !== "" || hash !== "") return "executor must have neither a query nor a fragment";
  const basePath = pathname.replace(/\/+$/, "");
  const isPrivate = protocol === "https:" || isLoopbackHost(hostname);
  return { url: origin + basePath, origin, authority: host, basePath, isPrivate };
}
