import { basename } from "node:path";
import type { FetchLike } from "@modelcontextprotocol/client";
import { Egress, type EgressOptions } from "../../egress/egress.ts";
import type { FsGrant } from "../../policy/grant/fs-grant.ts";
import type { Sandboxes } from "../../sandboxes/open-sandboxes.ts";
import type { LongRunningProgram } from "../../sandboxes/process/long-running/running-program.ts";
import { McpConnection, type OpenTransport } from "../../sandboxes/remote/mcp-client/connection.ts";
import {
  callPoster,
  type HttpFetchOptions,
  httpFetch,
} from "../../sandboxes/remote/mcp-client/http-fetch.ts";
import { HttpTransport, SseTransport } from "../../sandboxes/remote/mcp-client/http-transport.ts";
import { MessageRoom, type ReservedBytes } from "../../sandboxes/remote/mcp-client/message-streams.ts";
import type { OnMcpNotice } from "../../sandboxes/remote/mcp-client/notice.ts";
import type { ServerAsks } from "../../sandboxes/remote/mcp-client/questions/asked-requests.ts";
import type { Sdk } from "../../sandboxes/remote/mcp-client/sdk.ts";
import { StdioTransport } from "../../sandboxes/remote/mcp-client/stdio-transport.ts";
import { AuthorizationError } from "../../sandboxes/remote/mcp-client/unsent.ts";
import type { McpAsk } from "../gateway/client-link.ts";
import { CredentialFile } from "../oauth/credential-file.ts";
import type { OAuthOptions } from "../oauth/oauth-options.ts";
import { type Challenge, LOGIN_MS, OAuthSession } from "../oauth/oauth-session.ts";
import {
  asksOf,
  grantOf,
  type HttpServerOptions,
  type ImportedServerOptions,
  isHttpServer,
  type StdioServerOptions,
} from "./server-options.ts";

type ProgramOptions = Omit<StdioServerOptions, "asks" | "keepsNames" | "calls">;

type Starts = Pick<Sandboxes, "startConfinedProgram">;

/** Programs that download what they start, and from where. */
const RUNNERS: Readonly<Record<string, string>> = {
  npx: "https://registry.npmjs.org",
  npm: "https://registry.npmjs.org",
  pnpm: "https://registry.npmjs.org",
  pnpx: "https://registry.npmjs.org",
  yarn: "https://registry.yarnpkg.com",
  bunx: "https://registry.npmjs.org",
  uvx: "https://pypi.org",
  uv: "https://pypi.org",
  pipx: "https://pypi.org",
};

/** Directories with programs, in which no server expects to work. */
const CODE = new Set(["node_modules", "site-packages", "dist-packages", "venv", ".venv"]);

/** Programs that are Node.js, or run on that in their `PATH`. */
const ON_NODE = new Set(["node", "npx", "npm", "pnpm", "pnpx", "yarn"]);

const VERSION_MS = 5_000;

const MAX_VERSION_CHARS = 100;

/** How servers that only speak HTTP+SSE refuse what is sent to their address (MCP, "Backwards Compatibility"). */
const REFUSALS_OF_SSE: ReadonlySet<number> = new Set([400, 404, 405]);

/** How often a request is sent: without tokens, with tokens, and with more scopes. */
const MAX_ATTEMPTS = 3;

/** The services that connections use. */
interface ConnectionServices {
  readonly sandboxes: Pick<Sandboxes, "startConfinedProgram">;
  readonly egress: Egress;
  /** Shared by all servers. Default: one for this server. */
  readonly room?: MessageRoom;
  readonly onNotice?: OnMcpNotice | undefined;
  /** Whether calls may have clients that can be asked. */
  readonly hasClients: boolean;
}

/** Makes the connection to a server, which is opened on first use. */
export function connectionTo(
  name: string,
  options: ImportedServerOptions,
  { sandboxes, ...services }: ConnectionServices,
): McpConnection {
  if (isHttpServer(options)) return httpConnection(name, options, services);
  const { onNotice, hasClients } = services;
  const asks = hasClients ? capabilitiesOf(asksOf(options)) : {};
  return new McpConnection({
    name,
    open: stdioOpener(options, sandboxes),
    onNotice,
    asks,
    load: options.calls,
  });
}

/** Makes the connection to a server that is spoken to over HTTP. */
function httpConnection(
  name: string,
  options: HttpServerOptions,
  {
    egress,
    room = new MessageRoom(),
    onNotice,
    hasClients = false,
  }: Omit<ConnectionServices, "sandboxes" | "hasClients"> & { readonly hasClients?: boolean },
): McpConnection {
  const connectTimeoutMs = options.oauth?.onAuthorize === undefined ? undefined : LOGIN_MS;
  const asks = hasClients ? capabilitiesOf(asksOf(options)) : {};
  return new McpConnection({
    name,
    open: httpOpener(name, options, egress, room),
    connectTimeoutMs,
    onNotice,
    asks,
    load: options.calls,
  });
}

function capabilitiesOf(asks: ReadonlySet<McpAsk>): ServerAsks {
  return {
    ...(asks.has("elicitation") && { elicitation: { form: {}, url: {} } }),
    ...(asks.has("sampling") && { sampling: {} }),
    ...(asks.has("roots") && { roots: {} }),
  };
}

function stdioOpener(
  { asks: _, keepsNames: _keepsNames, calls: _calls, ...program }: StdioServerOptions,
  sandboxes: Pick<Sandboxes, "startConfinedProgram">,
): OpenTransport {
  return async (_sdk, filter, notify) => {
    const warn = (text: string): void => notify("problem", text);
    return new StdioTransport(() => startProgram(program, sandboxes, warn), filter, notify);
  };
}

function httpOpener(
  name: string,
  options: HttpServerOptions,
  egress: Egress,
  room: MessageRoom,
): OpenTransport {
  const { url, headers } = options;
  const grants = [grantOf(options)];
  const reserve = (): ReservedBytes => room.reserve(name);
  const session = sessionFor(name, options, { egress, reserve });
  const redact = session && ((text: string): string => session.redact(text));
  return async (sdk, filter, _notify, isSse) => {
    const authorized = (fetch: FetchLike): FetchLike =>
      session === undefined ? fetch : oauthFetch(sdk, fetch, session);
    if (isSse) {
      const inner: SseTransport = new SseTransport({
        url: new URL(url),
        headers,
        filter,
        // Answers come on the stream, and never to what is sent.
        post: authorized(httpFetch({ egress, grants, reserve, sessionOf: filter })),
        listen: authorized(
          httpFetch({
            egress,
            grants,
            filter,
            reserve,
            onEndpoint: (address) => inner.useEndpoint(address),
            onMessage: (message) => inner.receive(message),
          }),
        ),
      });
      return new HttpTransport(inner, filter, { redact });
    }
    const fetch = httpFetch({ egress, grants, filter, reserve });
    const statuses = new Set<number>();
    const noted: FetchLike = async (...request) => {
      const response = await fetch(...request);
      statuses.add(response.status);
      return response;
    };
    const inner = new sdk.StreamableHTTPClientTransport(new URL(url), {
      fetch: authorized(noted),
      ...(headers && { requestInit: { headers: { ...headers } } }),
    });
    const isRefused = (): boolean => statuses.size > 0 && statuses.isSubsetOf(REFUSALS_OF_SSE);
    // Requests that need an access token are the SDK's.
    const post =
      session === undefined ? callPoster({ egress, grants, filter, reserve }, url, headers) : undefined;
    return new HttpTransport(inner, filter, { redact, isRefused, post });
  };
}

/** One for all connections to the server, so that they have the same tokens. */
function sessionFor(
  server: string,
  options: HttpServerOptions,
  { egress, reserve }: Pick<HttpFetchOptions, "egress" | "reserve">,
): OAuthSession | undefined {
  const { url, oauth } = options;
  if (oauth === undefined) return undefined;
  const { net = [] } = oauth;
  const own = grantOf(options);
  const fetch = httpFetch({ egress, grants: [own, ...net], reserve });
  // Data for a granted authorization server, such as the client's secret, must not be sent to the MCP server.
  const authorizing = net.length > 0 ? net : [own];
  return new OAuthSession({
    server,
    url,
    oauth,
    fetch,
    isGranted: (asked) => egress.allows(asked, authorizing),
  });
}

/**
 * Adds the access token to requests. If a server refuses one for missing tokens or scopes, it is sent again
 * with new tokens.
 */
function oauthFetch(sdk: Sdk, fetch: FetchLike, session: OAuthSession): FetchLike {
  return async (url, init = {}) => {
    for (let attempt = 1; ; attempt++) {
      const token = await session.token();
      const headers = new Headers(init.headers);
      if (token !== undefined) headers.set("authorization", `Bearer ${token}`);
      const response = await fetch(url, { ...init, headers });
      const challenge = challengeOf(sdk, response);
      if (challenge === undefined) return response;
      if (challenge.isInsufficient && (attempt === MAX_ATTEMPTS || (await session.covers(challenge)))) {
        return response;
      }
      await response.body?.cancel();
      if (attempt === MAX_ATTEMPTS)
        throw new AuthorizationError("the server refuses the tokens that are for it");
      await session.renew(challenge, token);
    }
  };
}

function challengeOf(sdk: Sdk, response: Response): Challenge | undefined {
  if (response.status !== 401 && response.status !== 403) return undefined;
  const { resourceMetadataUrl, scope, error } = sdk.extractWWWAuthenticateParams(response);
  const isInsufficient = response.status === 403;
  if (isInsufficient && error !== "insufficient_scope") return undefined;
  return { resourceMetadataUrl, scope, isInsufficient };
}

/**
 * Starts the program of a server.
 *
 * @param warn Gets texts for operators: what the program tried to reach and may not, and why its requests will fail.
 * @throws as `Sandboxes.startConfinedProgram` does, as a rejection.
 */
async function startProgram(
  options: ProgramOptions,
  sandboxes: Starts,
  warn: (text: string) => void,
): Promise<LongRunningProgram> {
  const { command, net = [], cwd, fs = [] } = options;
  warnOfRunner(command, net.length > 0, warn);
  const [program] = await Promise.all([
    // Without an origin, it has a proxy that refuses everything, and says what.
    sandboxes.startConfinedProgram({ ...options, net, fs: cwd === undefined ? sorted(fs) : fs, warn }),
    net.length > 0 ? warnOfNode(options, sandboxes, warn) : undefined,
  ]);
  return program;
}

function warnOfRunner(command: string, hasNet: boolean, warn: (text: string) => void): void {
  const runner = RUNNERS[basename(command)];
  if (runner === undefined || hasNet) return;
  warn(
    `'${command}' downloads the server from ${runner} at each start, and 'net' grants no network: install the server in a directory of 'fs' and start it there, or grant 'net: [${runner}]'`,
  );
}

/** Begins with a directory that is for work, since a program begins in the first one. */
function sorted(fs: readonly FsGrant[]): readonly FsGrant[] {
  const rank = (grant: FsGrant): number => {
    if (!("directory" in grant)) return 3;
    if (grant.write === true) return 0;
    return [grant.directory, grant.at].some((path) => CODE.has(basename(path ?? ""))) ? 2 : 1;
  };
  return fs.toSorted((a, b) => rank(a) - rank(b));
}

/** Warns of a Node.js that does not use the proxy by which a program has its network. */
async function warnOfNode(
  { command, fs = [] }: ProgramOptions,
  sandboxes: Starts,
  warn: (text: string) => void,
): Promise<void> {
  const name = basename(command);
  if (!ON_NODE.has(name) && !command.includes("/node_modules/")) return;
  const version = await versionOf(name === "node" ? command : "node", fs, sandboxes);
  const [, text, major, minor] = /^v((\d+)\.(\d+)\.\d+)$/m.exec(version) ?? [];
  if (text === undefined || usesProxy(Number(major), Number(minor))) return;
  warn(
    `its Node.js is ${text}, which does not use the proxy through which 'net' grants the network (22.21, 24.5 and later do): requests of the server fail, unless it follows the variable HTTPS_PROXY itself. Install a newer Node.js, or grant one in 'fs'`,
  );
}

/**
 * Whether `NODE_USE_ENV_PROXY` applies to `fetch`, `node:http` and `node:https` (release notes of 22.21.0 and
 * 24.5.0).
 */
function usesProxy(major: number, minor: number): boolean {
  return major > 24 || (major === 24 && minor >= 5) || (major === 22 && minor >= 21);
}

async function versionOf(node: string, fs: readonly FsGrant[], sandboxes: Starts): Promise<string> {
  try {
    const program = await sandboxes.startConfinedProgram({ command: node, args: ["--version"], fs });
    const timer = setTimeout(() => void program.stop(0), VERSION_MS);
    program.stderr.resume();
    let text = "";
    for await (const bytes of program.stdout) text = `${text}${bytes}`.slice(0, MAX_VERSION_CHARS);
    await program.ended;
    clearTimeout(timer);
    return text;
  } catch {
    return "";
  }
}

/** A server with OAuth options. */
export type OAuthServerOptions = HttpServerOptions & { readonly oauth: OAuthOptions };

/** How a person logs in. */
interface LogInOptions {
  readonly egress?: EgressOptions;
  /** Ends the login. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Discards the tokens for a server and gets new ones. The registration of the client is preserved.
 *
 * @returns the file with the tokens; `undefined` if the server does not require any.
 * @throws {Error} if tokens cannot be obtained. `message` is for operators.
 */
export async function logIn(
  name: string,
  server: OAuthServerOptions,
  { egress: options, signal }: LogInOptions = {},
): Promise<string | undefined> {
  const file = credentialFile(name, server);
  const { client } = await file.read();
  if (client !== undefined) await file.write({ client });
  else await file.remove();
  const egress = new Egress(options);
  const connection = httpConnection(name, server, { egress });
  try {
    await connection.wire(signal);
    return (await file.read()).tokens === undefined ? undefined : file.path;
  } finally {
    await connection.close();
    await egress.close();
  }
}

/** Discards the tokens for a server and the registration of the client. Returns whether there were any. */
export function logOut(name: string, server: OAuthServerOptions): Promise<boolean> {
  return credentialFile(name, server).remove();
}

function credentialFile(name: string, { url, oauth }: OAuthServerOptions): CredentialFile {
  return new CredentialFile(oauth.directory, name, url);
}
