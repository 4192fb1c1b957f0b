import { MAX_DELAY_MS } from "../../base/timers.ts";
import { type OptionNames, refuseUnknown } from "../../base/unknown-names.ts";
import type { FsGrant } from "../../policy/grant/fs-grant.ts";
import { checkNetGrant, type NetGrant, originOf, parseOrigin } from "../../policy/grant/net-grant.ts";
import type { LongRunningLimits } from "../../sandboxes/process/long-running/running-program.ts";
import type { McpLoadOptions } from "../../sandboxes/remote/mcp-client/server-load.ts";
import type { McpAsk } from "../gateway/client-link.ts";
import { checkOAuth, type OAuthOptions } from "../oauth/oauth-options.ts";

const STDIO_NAMES: OptionNames<StdioServerOptions> = {
  asks: true,
  keepsNames: true,
  calls: true,
  command: true,
  args: true,
  env: true,
  cwd: true,
  fs: true,
  net: true,
  limits: true,
};
const HTTP_NAMES: OptionNames<HttpServerOptions> = {
  asks: true,
  keepsNames: true,
  calls: true,
  url: true,
  headers: true,
  addresses: true,
  oauth: true,
};

/** The options of servers of both kinds. */
export interface ServerTraits {
  /**
   * What the server may ask of the client of a call, if the call comes from a client of MCP. `sampling` and
   * `roots` are deprecated by MCP: the first lets the client's model read text of the server, the second
   * shows its directories. Default: `["elicitation"]`, forms and pages for a person.
   */
  readonly asks?: readonly McpAsk[];
  /**
   * Whether its tools and prompts keep their own names, in place of `mcp_<server>_<name>`: for a gateway
   * before one server whose clients know them. Names that are taken are skipped. Default: `false`.
   */
  readonly keepsNames?: boolean;
  /** How many calls it gets at once, and when it gets none for a while. Default: those of {@link McpLoadOptions}. */
  readonly calls?: McpLoadOptions;
}

/** A server that is a program, spoken to over its standard streams. It runs in the sandbox `process`. */
export interface StdioServerOptions extends ServerTraits {
  /** A path in the sandbox, or a name that is looked up in `/usr/bin` and `/bin`. */
  readonly command: string;
  /** Default: none. */
  readonly args?: readonly string[];
  /** Its environment variables in addition to `PATH`, `HOME` and `LANG`. Default: none. */
  readonly env?: Readonly<Record<string, string>>;
  /**
   * Relative to the first granted directory. Default: the first one for writing, or else the first one
   * without packages, such as `node_modules`; `/tmp` if there is none.
   */
  readonly cwd?: string;
  /** Files and directories that it sees in addition to those of the system. Default: none. */
  readonly fs?: readonly FsGrant[];
  /** Origins that it can reach. Default: none. */
  readonly net?: readonly NetGrant[];
  /** Default: only `netBytes`, 256 MiB. */
  readonly limits?: LongRunningLimits;
}

/** A server that is spoken to over HTTP (MCP, "Streamable HTTP"). */
export interface HttpServerOptions extends ServerTraits {
  /** An `http:` or `https:` URL without credentials. */
  readonly url: string;
  /** Sent with each request, such as `authorization`. Default: none. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Address ranges that the host may have although they are not public, such as `127.0.0.1/32`. Default: none. */
  readonly addresses?: readonly string[];
  /** How to get tokens for it. Default: it only gets those of `headers`. */
  readonly oauth?: OAuthOptions;
}

/** How a server is reached. */
export type ImportedServerOptions = StdioServerOptions | HttpServerOptions;

const NAME = /^[A-Za-z0-9_-]{1,32}$/;

/** Names of {@link ServerTraits.asks}. */
export const ASKS: readonly McpAsk[] = ["elicitation", "sampling", "roots"];

/** What a server may ask of the clients of calls. */
export function asksOf({ asks = ["elicitation"] }: ServerTraits): ReadonlySet<McpAsk> {
  return new Set(asks);
}

/** Whether a server is spoken to over HTTP. */
export function isHttpServer(options: ImportedServerOptions): options is HttpServerOptions {
  return "url" in options;
}

/**
 * Checks the name of a server and how it is reached.
 *
 * @throws {TypeError} if they are invalid. The message does not repeat values of `env` and `headers`.
 */
export function checkServer(name: string, options: ImportedServerOptions): void {
  if (!NAME.test(name)) {
    throw new TypeError("the name of an MCP server must be 1 to 32 letters, digits, '_' and '-'");
  }
  if (isHttpServer(options) && "command" in options)
    throw new TypeError(`the MCP server '${name}' must have either command or url`);
  refuseUnknown(options, isHttpServer(options) ? HTTP_NAMES : STDIO_NAMES, `the MCP server '${name}'`);
  if (options.asks?.some((ask) => !ASKS.includes(ask)) === true) {
    throw new TypeError(`asks of the MCP server '${name}' must be some of ${ASKS.join(", ")}`);
  }
  if (options.calls !== undefined) checkLoad(name, options.calls);
  if (!isHttpServer(options)) {
    if (typeof options.command !== "string" || options.command === "") {
      throw new TypeError(`the MCP server '${name}' must have either command or url`);
    }
    return;
  }
  const url = URL.parse(options.url);
  if (
    url === null ||
    !["http:", "https:"].includes(url.protocol) ||
    url.username !== "" ||
    url.password !== ""
  ) {
    throw new TypeError(
      `the url of the MCP server '${name}' must be an http: or https: URL without credentials`,
    );
  }
  grantOf(options);
  if (options.oauth === undefined) return;
  checkOAuth(name, options.oauth);
  if (Object.keys(options.headers ?? {}).some((header) => header.toLowerCase() === "authorization")) {
    throw new TypeError(`the MCP server '${name}' must have either oauth or an authorization header`);
  }
}

const LOAD_NAMES: OptionNames<McpLoadOptions> = {
  maxConcurrent: true,
  maxWaiting: true,
  maxWaitMs: true,
  maxFaults: true,
};

function checkLoad(name: string, calls: McpLoadOptions): void {
  refuseUnknown(calls, LOAD_NAMES, `calls of the MCP server '${name}'`);
  for (const [member, value] of Object.entries(calls)) {
    const least = member === "maxWaiting" ? 0 : 1;
    if (!Number.isSafeInteger(value) || value < least || value > MAX_DELAY_MS)
      throw new TypeError(
        `calls.${member} of the MCP server '${name}' must be a whole number from ${least} to ${MAX_DELAY_MS}`,
      );
  }
}

/**
 * Returns the one origin that the requests to a server may go to.
 *
 * @throws {TypeError} if the addresses are invalid.
 */
export function grantOf({ url, addresses = [] }: HttpServerOptions): NetGrant {
  const { origin } = new URL(url);
  const grant = checkNetGrant(addresses.length === 0 ? origin : { origin, addresses });
  parseOrigin(originOf(grant));
  return grant;
}
