import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { expect, test } from "vitest";
import { startProxy } from "../conformance/fixture-proxy.ts";
import { REVISIONS } from "../conformance/run-scenarios.ts";
import { serveTools } from "../import/http-servers.ts";

const ICONS = [{ src: "https://example.com/a.png", mimeType: "image/png", sizes: ["16x16"] }];
const META = { "example.com/k": [1.5, null] };

test.each(
  REVISIONS,
)("a client of %s gets icons and _meta of tools and prompts, and errors of tools as they are", async (revision) => {
  await using served = await serveTools((server) => {
    server.registerTool("draw", { description: "Draws.", icons: ICONS, _meta: META }, async () => ({
      content: [],
    }));
    server.registerTool("breaks", { description: "Breaks." }, async () => {
      throw new Error("out of ink");
    });
    server.registerPrompt("greet", { description: "Greets.", icons: ICONS, _meta: META }, async () => ({
      messages: [],
    }));
  });
  await using proxy = await startProxy({
    target: served.options.url,
    wire: "2026-07-28",
    keepsNames: false,
  });
  const mode = revision === "2026-07-28" ? { pin: revision } : ("legacy" as const);
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
  await client.connect(new StreamableHTTPClientTransport(new URL(proxy.url)));
  const { tools } = await client.listTools();
  expect(tools.find(({ name }) => name === "mcp_fixtures_draw")).toMatchObject({ icons: ICONS, _meta: META });
  const { prompts } = await client.listPrompts();
  expect(prompts).toMatchObject([{ name: "mcp_fixtures_greet", icons: ICONS, _meta: META }]);
  expect(await client.callTool({ name: "mcp_fixtures_breaks" })).toMatchObject({
    isError: true,
    content: [{ type: "text", text: expect.stringContaining("out of ink") }],
  });
  await client.close();
});
