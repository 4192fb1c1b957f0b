import type { Egress } from "../../egress/egress.ts";
import type { Sandboxes } from "../../sandboxes/open-sandboxes.ts";
import { McpConnection, type OpenTransport } from "../../sandboxes/remote/mcp-client/connection.ts";
import { type HttpFetchOptions, httpFetch } from "../../sandboxes/remote/mcp-client/http/http-fetch.ts";
import { HttpTransport } from "../../sandboxes/remote/mcp-client/http/http-transport.ts";
import { type HeldBytes, MessageRoom } from "../../sandboxes/remote/mcp-client/http/message-room.ts";
import type { OnMcpNotice } from "../../sandboxes/remote/mcp-client/notice.ts";
import type { ServerAsks } from "../../sandboxes/remote/mcp-client/questions/asked-requests.ts";
import { StdioTransport } from "../../sandboxes/remote/mcp-client/stdio/stdio-transport.ts";
import type { McpAsk } from "../gateway/client-link.ts";
import { oauthFetch } from "../oauth/oauth-fetch.ts";
import { LOGIN_MS, OAuthSession } from "../oauth/oauth-session.ts";
import {
  asksOf,
  grantOf,
  type HttpServerOptions,
  type ImportedServerOptions,
  isHttpServer,
  type StdioServerOptions,
} from "./server-options.ts";

/** What connections need to be opened. */
export interface ConnectionServices {
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
  return new McpConnection({ name, open: stdioOpener(options, sandboxes), onNotice, asks });
}

/** Makes the connection to a server that is spoken to over HTTP. */
export function httpConnection(
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
  });
}

function capabilitiesOf(asks: ReadonlySet<McpAsk>): ServerAsks {
  return {
    ...(asks.has("elicitation") && { elicitation: { form: {}, url: {} } }),
    ...(asks.has("sampling") && { sampling: {} }),
    ...(asks.has("roots") && { roots: {} }),
  };
}

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

function stdioOpener(
  { asks: _, keepsNames: _keepsNames, ...program }: StdioServerOptions,
  sandboxes: Pick<Sandboxes, "startConfinedProgram">,
): OpenTransport {
  return async (_sdk, filter, notify) => {
    const warn = (text: string): void => notify("problem", text);
    const runner = RUNNERS[program.command.split("/").at(-1) ?? ""];
    if (runner !== undefined && (program.net ?? []).length === 0) {
      warn(
        `'${program.command}' downloads the server from ${runner} at each start, and 'net' grants no network: install the server in a directory of 'fs' and start it there, or grant 'net: [${runner}]'`,
      );
    }
    return new StdioTransport(() => sandboxes.startConfinedProgram({ ...program, warn }), filter, notify);
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
  const hold = (): HeldBytes => room.hold(name);
  const session = sessionFor(name, options, { egress, hold });
  const redact = session && ((text: string): string => session.redact(text));
  return async (sdk, filter) => {
    const fetch = httpFetch({ egress, grants, filter, hold });
    const inner = new sdk.StreamableHTTPClientTransport(new URL(url), {
      fetch: session === undefined ? fetch : oauthFetch(sdk, fetch, session),
      ...(headers && { requestInit: { headers: { ...headers } } }),
    });
    return new HttpTransport(inner, filter, redact);
  };
}

/** One for all connections to the server, so that they have the same tokens. */
function sessionFor(
  server: string,
  options: HttpServerOptions,
  { egress, hold }: Pick<HttpFetchOptions, "egress" | "hold">,
): OAuthSession | undefined {
  const { url, oauth } = options;
  if (oauth === undefined) return undefined;
  const { net = [] } = oauth;
  const own = grantOf(options);
  const fetch = httpFetch({ egress, grants: [own, ...net], hold });
  // What is for a granted authorization server, such as the client's secret, must not go to the MCP server.
  const authorizing = net.length > 0 ? net : [own];
  return new OAuthSession({
    server,
    url,
    oauth,
    fetch,
    isGranted: (asked) => egress.allows(asked, authorizing),
  });
}
