import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { CallTracer } from "../../../src/engine/call/events.ts";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import type { Tool } from "../../../src/engine/tool.ts";
import type { McpOffers } from "../../../src/mcp/server/mcp-offers.ts";
import type { McpServer } from "../../../src/mcp/server/mcp-server.ts";
import { HostPolicy } from "../../../src/policy/policy.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import { startServer } from "../../../src/server/server.ts";
import { asCaller, CALLER } from "../conformance/as-caller.ts";
import { startProxy } from "../conformance/fixture-proxy.ts";
import { freePort } from "../conformance/fixture-server.ts";
import type { Revision } from "../conformance/run-scenarios.ts";

/** The revision that the client speaks, and that which the server does. */
export const PAIRS: readonly (readonly [Revision, Revision])[] = [
  ["2025-11-25", "2025-11-25"],
  ["2025-11-25", "2026-07-28"],
  ["2026-07-28", "2025-11-25"],
  ["2026-07-28", "2026-07-28"],
];

/** What the person at a client answers. The signal is aborted when the request is withdrawn. */
export type Person = (
  method: string,
  params: Record<string, unknown>,
  signal: AbortSignal,
) => object | Promise<object>;

/** A client, Sandgate as a proxy, and a server behind it. */
export interface Pair extends AsyncDisposable {
  readonly client: Client;
  readonly server: McpServer;
}

/** Connects a client to a server through a proxy. The tools of the server are host tools of Sandgate. */
export async function connectPair(
  [client, server]: readonly [Revision, Revision],
  tools: (server: () => McpServer) => readonly Tool[],
  {
    offers = {},
    person,
    tracer,
  }: {
    readonly offers?: McpOffers;
    readonly person?: Person;
    /** Follows the calls of the server and of the proxy. Default: none. */
    readonly tracer?: CallTracer;
  } = {},
): Promise<Pair> {
  const sandboxes = await openSandboxes();
  const registry = new ToolRegistry();
  const port = await freePort();
  const behind = await startServer({
    registry,
    sandboxes,
    policy: new HostPolicy(),
    listen: "127.0.0.1:0",
    sessions: {},
    credentials: [CALLER],
    hosts: [`127.0.0.1:${port}`],
    mcp: { ...offers, confirm: "elicitation", logs: true },
    limits: { drainMs: 1_000 },
    ...(tracer && { tracer }),
  });
  const mcp = behind.mcp;
  if (mcp === undefined) throw new Error("there is no server of MCP");
  for (const tool of tools(() => mcp)) registry.register(tool);
  const front = await asCaller(port, behind.address);
  const proxy = await startProxy({
    target: `http://127.0.0.1:${port}/mcp`,
    wire: server,
    keepsNames: false,
    tracer,
  });
  const peer = new Client(
    { name: "test", version: "1" },
    {
      capabilities: person === undefined ? {} : { elicitation: { form: {}, url: {} } },
      versionNegotiation: { mode: client === "2026-07-28" ? { pin: client } : "legacy" },
    },
  );
  if (person !== undefined) {
    peer.setRequestHandler(
      "elicitation/create",
      async ({ method, params }, { mcpReq }) =>
        (await person(method, params as never, mcpReq.signal)) as never,
    );
  }
  await peer.connect(new StreamableHTTPClientTransport(new URL(proxy.url)));
  return {
    client: peer,
    server: mcp,
    [Symbol.asyncDispose]: async () => {
      await peer.close();
      await proxy[Symbol.asyncDispose]();
      await front[Symbol.asyncDispose]();
      await behind.close();
      await sandboxes.close();
    },
  };
}
