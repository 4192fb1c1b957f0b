import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as OldTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { onTestFinished } from "vitest";
import type { Tool } from "../../../src/engine/tool.ts";
import type { JsonObject } from "../../../src/json/value.ts";
import type { ServedMcp, ServerOptions } from "../../../src/server/options.ts";
import type { Server } from "../../../src/server/server.ts";
import { type ClientName, startServer, TOKENS } from "../../server/harness.ts";

/** What the person at a client answers to a form. */
export type Person = (params: JsonObject) => JsonObject | Promise<JsonObject>;

/** A client of MCP, of either SDK. */
export interface PeerClient {
  listTools(): Promise<{ readonly tools: readonly unknown[] }>;
  callTool(
    call: { name: string; arguments?: Record<string, unknown> },
    options?: CallOptions,
  ): Promise<unknown>;
  close(): Promise<void>;
}

/** A client of SDK 2.x. */
export type NewClient = Client;

interface CallOptions {
  readonly signal?: AbortSignal;
  readonly onprogress?: (progress: { progress: number; message?: string }) => void;
}

/** The peers with which most tests run: the SDK 1.x, and 2.x on each wire. */
export const PEERS = ["sdk 1.x, 2025-11-25", "sdk 2.x, 2025-11-25", "sdk 2.x, 2026-07-28"] as const;
export type Peer = (typeof PEERS)[number];

/** Starts a server with MCP, which is closed when the test finishes. */
export function startMcpServer(
  tools: readonly Tool[],
  mcp: ServedMcp = {},
  options: Partial<ServerOptions> = {},
): Promise<Server> {
  return startServer(tools, { mcp, ...options });
}

export function urlOf(server: Server): URL {
  return new URL(`http://${server.address}/mcp`);
}

/** Connects a client, which is closed when the test finishes. */
export async function connect(
  server: Server,
  peer: Peer,
  { name = "alice", person }: { readonly name?: ClientName; readonly person?: Person } = {},
): Promise<PeerClient> {
  const client =
    peer === PEERS[0] ? await connectOld(server, name, person) : await connectNew(server, peer, name, person);
  onTestFinished(() => client.close());
  return client;
}

const INFO = { name: "test", version: "1" };

async function connectOld(server: Server, name: ClientName, person: Person | undefined): Promise<PeerClient> {
  const capabilities = person === undefined ? {} : { elicitation: {} };
  const client = new OldClient(INFO, { capabilities });
  if (person !== undefined) {
    client.setRequestHandler(
      ElicitRequestSchema,
      async ({ params }) => (await person(params as never)) as never,
    );
  }
  const headers = { authorization: `Bearer ${TOKENS[name]}` };
  await client.connect(new OldTransport(urlOf(server), { requestInit: { headers } }) as never);
  return {
    listTools: () => client.listTools(),
    callTool: (call, options) => client.callTool(call, undefined, options as never),
    close: () => client.close(),
  };
}

async function connectNew(
  server: Server,
  peer: Peer,
  name: ClientName,
  person: Person | undefined,
): Promise<PeerClient> {
  const client = newClient(peer === PEERS[2] ? { pin: "2026-07-28" } : "legacy", person);
  const headers = { authorization: `Bearer ${TOKENS[name]}` };
  await client.connect(new StreamableHTTPClientTransport(urlOf(server), { requestInit: { headers } }));
  return client as unknown as PeerClient;
}

/** A client of SDK 2.x that is not connected. */
export function newClient(mode: "legacy" | { pin: string }, person?: Person): NewClient {
  const capabilities = person === undefined ? {} : { elicitation: { form: {} } };
  const client = new Client(INFO, { capabilities, versionNegotiation: { mode } });
  if (person !== undefined) {
    client.setRequestHandler(
      "elicitation/create",
      async ({ params }) => (await person(params as never)) as never,
    );
  }
  return client;
}

/** A request of MCP 2026-07-28, as it is sent. */
export async function send(
  server: Server,
  method: string,
  params: JsonObject,
  { name = "alice", capabilities = {}, headers = {} }: SendOptions = {},
): Promise<{ readonly status: number; readonly body: JsonObject }> {
  const target = params["name"] ?? params["uri"];
  const response = await fetch(urlOf(server), {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      authorization: `Bearer ${TOKENS[name]}`,
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      ...(typeof target === "string" && { "mcp-name": target }),
      ...headers,
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method,
      params: { ...params, _meta: metaOf(capabilities) },
    }),
  });
  const text = await response.text();
  const last = text.startsWith("{")
    ? text
    : (text.match(/^data: (.*)$/gm)?.at(-1) ?? "").slice("data: ".length);
  return { status: response.status, body: JSON.parse(last) };
}

interface SendOptions {
  readonly name?: ClientName;
  readonly capabilities?: JsonObject;
  readonly headers?: Readonly<Record<string, string>>;
}

function metaOf(capabilities: JsonObject): JsonObject {
  return {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": INFO,
    "io.modelcontextprotocol/clientCapabilities": capabilities,
  };
}
