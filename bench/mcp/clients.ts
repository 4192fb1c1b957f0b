import { Client, StreamableHTTPClientTransport, type Transport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { NotHereError, type OpenCase } from "../harness/case.ts";
import { INPUT, isInput } from "../setting.ts";
import { TOKEN } from "./servers.ts";

/** The revisions of MCP that are measured. */
export type Revision = "2025-11-25" | "2026-07-28";

/** Connects a client of the SDK. */
export async function connectClient(transport: Transport, revision: Revision): Promise<Client> {
  const mode = revision === "2025-11-25" ? "legacy" : ({ pin: revision } as const);
  const client = new Client({ name: "bench", version: "1" }, { versionNegotiation: { mode } });
  await client.connect(transport);
  return client;
}

/** Connects to a server over HTTP. Echo servers ignore the token. */
export function connectHttp(url: string, revision: Revision): Promise<Client> {
  const headers = { authorization: `Bearer ${TOKEN}` };
  return connectClient(
    new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }),
    revision,
  );
}

/** Starts a command, and connects to it over its standard streams. */
export function connectStdio(command: string, args: readonly string[], revision: Revision): Promise<Client> {
  const transport = new StdioClientTransport({ command, args: [...args], stderr: "ignore" });
  return connectClient(transport, revision).catch((error) => {
    throw new NotHereError(String(error));
  });
}

/** Returns a case in which a client calls a tool that echoes. */
export function callsOf(client: Client, tool: string, close?: () => unknown): OpenCase {
  return {
    run: () => client.callTool({ name: tool, arguments: INPUT }),
    check: ({ content }: { content: readonly { readonly text: string }[] }) => {
      isInput(JSON.parse(content[0]?.text ?? "null"));
    },
    close: async () => {
      await client.close();
      await close?.();
    },
  } as OpenCase;
}

/** Asks a server for its tools. The SDK's client would answer from its cache. */
export async function listTools(url: string): Promise<readonly unknown[]> {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "bench", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const headers = {
    accept: "application/json, text/event-stream",
    authorization: `Bearer ${TOKEN}`,
    "content-type": "application/json",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/list",
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta } });
  const response = await fetch(url, { method: "POST", headers, body });
  const { result } = (await response.json()) as { readonly result: { readonly tools: readonly unknown[] } };
  return result.tools;
}
