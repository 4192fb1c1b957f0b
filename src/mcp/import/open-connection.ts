import type { Egress } from "../../egress/egress.ts";
import type { Sandboxes } from "../../sandboxes/open-sandboxes.ts";
import { McpConnection, type OpenTransport } from "../../sandboxes/remote/mcp-client/connection.ts";
import { httpFetch } from "../../sandboxes/remote/mcp-client/http-fetch.ts";
import { HttpTransport } from "../../sandboxes/remote/mcp-client/http-transport.ts";
import type { OnMcpNotice } from "../../sandboxes/remote/mcp-client/notice.ts";
import { StdioTransport } from "../../sandboxes/remote/mcp-client/stdio-transport.ts";
import {
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
  readonly onNotice?: OnMcpNotice | undefined;
}

/** Makes the connection to a server, which is opened on first use. */
export function connectionTo(
  name: string,
  options: ImportedServerOptions,
  { sandboxes, egress, onNotice }: ConnectionServices,
): McpConnection {
  const open = isHttpServer(options) ? httpOpener(options, egress) : stdioOpener(options, sandboxes);
  return new McpConnection({ name, open, onNotice });
}

function stdioOpener(
  options: StdioServerOptions,
  sandboxes: Pick<Sandboxes, "startConfinedProgram">,
): OpenTransport {
  return async (_sdk, filter, notify) => {
    const warn = (text: string): void => notify("problem", text);
    return new StdioTransport(() => sandboxes.startConfinedProgram({ ...options, warn }), filter, notify);
  };
}

function httpOpener(options: HttpServerOptions, egress: Egress): OpenTransport {
  const grants = [grantOf(options)];
  return async (sdk, filter) => {
    const inner = new sdk.StreamableHTTPClientTransport(new URL(options.url), {
      fetch: httpFetch({ egress, grants, filter }),
      ...(options.headers && { requestInit: { headers: { ...options.headers } } }),
    });
    return new HttpTransport(inner, filter);
  };
}
