import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { describe, expect, test } from "vitest";
import { startProxy } from "../conformance/fixture-proxy.ts";
import { bodyOf, type Served, serve } from "../import/http-servers.ts";

const TOOL = { name: "x", inputSchema: { type: "object" } };

/** A server of 2025-11-25 whose tool has results as they are written here. */
async function serveResult(result: () => string): Promise<Served & { readonly bodies: string[] }> {
  const bodies: string[] = [];
  const served = await serve(async (request, response) => {
    if (request.method !== "POST") return void response.writeHead(405).end();
    const { id, method, params } = await bodyOf(request);
    if (id === undefined) return void response.writeHead(202).end();
    const answer = (text: string): void => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${text}}`);
    };
    if (method === "initialize") {
      const serverInfo = { name: "exact", version: "1" };
      return answer(
        JSON.stringify({ protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo }),
      );
    }
    if (method === "tools/list") return answer(JSON.stringify({ tools: [TOOL] }));
    bodies.push(JSON.stringify(params));
    answer(result());
  });
  return { ...served, bodies };
}

/** Calls the tool with arguments as they are written here. Returns the response as text. */
async function post(
  url: string,
  args: string,
): Promise<{ readonly error?: { message: string }; readonly result?: never; id: unknown }> {
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": "mcp_fixtures_x",
    },
    body: `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"mcp_fixtures_x","arguments":${args},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
  });
  return (await response.json()) as never;
}

describe.each(["2025-11-25", "2026-07-28"] as const)("Through the proxy, a client of %s", (revision) => {
  test.each<[string, string, object]>([
    ["isError without content", '{"isError":true,"content":[]}', { isError: true, content: [] }],
    ["isError, and no content at all", '{"isError":true}', { isError: true, content: [] }],
    [
      "isError with an image alone",
      '{"isError":true,"content":[{"type":"image","data":"AAAA","mimeType":"image/png"}]}',
      { isError: true, content: [{ type: "image", data: "AAAA", mimeType: "image/png" }] },
    ],
    [
      "structuredContent without content",
      '{"structuredContent":{"n":0.1}}',
      { structuredContent: { n: 0.1 }, content: [] },
    ],
    [
      "structuredContent without content and with isError",
      '{"structuredContent":{"n":1},"isError":true}',
      { structuredContent: { n: 1 }, isError: true, content: [] },
    ],
  ])("gets %s as it is", async (_, result, expected) => {
    await using served = await serveResult(() => result);
    await using proxy = await startProxy({
      target: served.options.url,
      wire: "2025-11-25",
      keepsNames: false,
    });
    const client = new Client(
      { name: "test", version: "1" },
      { versionNegotiation: { mode: revision === "2026-07-28" ? { pin: revision } : "legacy" } },
    );
    await client.connect(new StreamableHTTPClientTransport(new URL(proxy.url)));
    const { content, structuredContent, isError } = await client.callTool({ name: "mcp_fixtures_x" });
    expect(JSON.parse(JSON.stringify({ content, structuredContent, isError }))).toEqual(expected);
    await client.close();
  });
});

describe("A decimal that a double cannot hold fails the call", () => {
  test.each([
    "3.14159265358979323846264338327950288",
    "0.12345678901234567890",
    "123456789012345678e3",
  ])("%s, from a client, which is not sent", async (number) => {
    await using served = await serveResult(() => '{"content":[]}');
    await using proxy = await startProxy({
      target: served.options.url,
      wire: "2025-11-25",
      keepsNames: false,
    });
    const answered = await post(proxy.url, `{"n":${number}}`);
    expect(answered).toMatchObject({
      id: 7,
      error: { message: expect.stringContaining("more digits than a double") },
    });
    expect(served.bodies).toEqual([]);
    expect(await post(proxy.url, '{"n":0.1}')).toMatchObject({ id: 7, result: { content: [] } });
  });

  test.each([
    "3.14159265358979323846264338327950288",
    "1e400",
    "12345678901234567890",
  ])("%s, from a server", async (number) => {
    await using served = await serveResult(() => `{"content":[],"structuredContent":{"n":${number}}}`);
    await using proxy = await startProxy({
      target: served.options.url,
      wire: "2025-11-25",
      keepsNames: false,
    });
    const { result } = await post(proxy.url, "{}");
    expect(result).toMatchObject({ isError: true });
    expect(JSON.stringify(result)).not.toContain('"n"');
  });
});
