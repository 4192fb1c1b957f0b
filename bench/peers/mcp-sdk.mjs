// The MCP SDK: a client and a server in one process.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { INPUT_SHAPE } from "./input-shape.mjs";

export async function open({ INPUT_TEXT }) {
  const server = new McpServer({ name: "bench", version: "1.0.0" });
  server.registerTool("echo", { description: "", inputSchema: INPUT_SHAPE }, async (input) => ({
    content: [{ type: "text", text: JSON.stringify(input) }],
  }));
  const client = new Client({ name: "bench", version: "1.0.0" });
  const [one, other] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(one), client.connect(other)]);
  return {
    run: async () => {
      const result = await client.callTool({ name: "echo", arguments: JSON.parse(INPUT_TEXT) });
      return result.content[0].text;
    },
    close: () => client.close(),
  };
}
