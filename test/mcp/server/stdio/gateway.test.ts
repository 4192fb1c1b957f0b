import { realpathSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { describe, expect, onTestFinished, test } from "vitest";
import { createFolder } from "../../../cli/sandgate.ts";
import { unavailable } from "../../../sandboxes/process/availability.ts";
import { newClient } from "../harness.ts";

const MAIN = resolve(import.meta.dirname, "../../../../src/cli/main.ts");
const NODE = realpathSync(process.execPath);
const SERVER = fileURLToPath(new URL("../../../fixtures/mcp/hostile-server.mjs", import.meta.url));

const CONFIG = `mcp:
  servers:
    h:
      command: ${NODE}
      args: [${SERVER}, ok]
      fs:
        - { file: ${NODE}, at: ${NODE} }
        - { file: ${SERVER}, at: ${SERVER} }
  classes: { mcp_h_x: read }
policy:
  rules:
    - { tools: [mcp_h_x], when: { /a: { prefix: public } }, effect: allow, sandboxes: [remote] }
`;

describe.skipIf(unavailable)("sandgate mcp serve, before an MCP server", () => {
  test.each([
    "legacy",
    { pin: "2026-07-28" },
  ] as const)("has the policy decide on the arguments of its tools, for a client on the wire %j", async (wire) => {
    const folder = await createFolder({ "sandgate.yaml": CONFIG });
    const client = newClient(wire);
    const args = [MAIN, "mcp", "serve", "--config", join(folder, "sandgate.yaml")];
    await client.connect(new StdioClientTransport({ command: process.execPath, args, stderr: "pipe" }));
    onTestFinished(() => client.close());
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(["mcp_h_x"]);
    expect(await client.callTool({ name: "mcp_h_x", arguments: { a: "public" } })).toMatchObject({
      content: [{ type: "text", text: expect.stringContaining("public") }],
    });
    expect(await client.callTool({ name: "mcp_h_x", arguments: { a: "secret" } })).toMatchObject({
      isError: true,
      content: [{ type: "text", text: "Permission denied: tool 'mcp_h_x' is disabled by policy" }],
    });
  });
});
