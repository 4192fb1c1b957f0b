import { execFile } from "node:child_process";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { createMCPClient } from "@ai-sdk/mcp";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as OldTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { describe, expect, onTestFinished, test } from "vitest";
import { createFolder } from "../../../cli/sandgate.ts";
import { TOKENS, WritingTool } from "../../../server/harness.ts";
import { newClient, startMcpServer, urlOf } from "../harness.ts";

const MAIN = resolve(import.meta.dirname, "../../../../src/cli/main.ts");
const INSPECTOR = resolve(import.meta.dirname, "../../../../node_modules/.bin/mcp-inspector");
const FILES = {
  "sandgate.yaml": `tools:
  - name: add
    description: Adds two numbers.
    inputSchema: { type: object, properties: { a: { type: number }, b: { type: number } }, required: [a, b] }
    sideEffects: none
    quickjs: { source: "export default ({ a, b }) => a + b" }
  - name: keep
    description: Keeps a text.
    inputSchema: { type: object }
    sideEffects: write
    quickjs: { source: "export default () => 'kept'" }
policy: policy.yaml
server: { mcp: { instructions: "Adds and keeps.", confirm: elicitation } }
`,
  "policy.yaml": "rules:\n  - { tools: ['*'], effect: allow, sandboxes: [quickjs] }\n",
};
const INFO = { name: "test", version: "1" };

/** The command that serves the config. */
async function command(): Promise<{ command: string; args: string[]; stderr: "pipe" }> {
  const folder = await createFolder(FILES);
  const args = [MAIN, "mcp", "serve", "--config", join(folder, "sandgate.yaml")];
  return { command: process.execPath, args, stderr: "pipe" };
}

describe("sandgate mcp serve", () => {
  test("serves a client of SDK 1.x, and writes nothing but messages to its output", async () => {
    const client = new OldClient(INFO);
    const problems: unknown[] = [];
    // A line that is no message.
    client.onerror = (error) => problems.push(error);
    await client.connect(new OldTransport(await command()) as never);
    onTestFinished(() => client.close());
    expect(client.getInstructions()).toBe("Adds and keeps.");
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["add", "keep"]);
    expect(await client.callTool({ name: "add", arguments: { a: 1, b: 2 } })).toMatchObject({
      content: [{ type: "text", text: "3" }],
    });
    expect(await client.callTool({ name: "keep" })).toMatchObject({ isError: true });
    expect(problems).toEqual([]);
  });

  test("serves a client of SDK 2.x on the wire without sessions, and asks its person", async () => {
    const client = newClient({ pin: "2026-07-28" }, () => ({
      action: "accept",
      content: { decision: "allow" },
    }));
    await client.connect(new StdioClientTransport(await command()));
    onTestFinished(() => client.close());
    expect(client.getProtocolEra()).toBe("modern");
    expect(await client.callTool({ name: "keep" })).toMatchObject({
      content: [{ type: "text", text: "kept" }],
    });
  });

  test("serves the inspector", async () => {
    const sandgate = await command();
    // The inspector takes options of the command for its own.
    const servers = JSON.stringify({ mcpServers: { sandgate } });
    const file = join(await createFolder({ "servers.json": servers }), "servers.json");
    const call = ["--method", "tools/call", "--tool-name", "add", "--tool-arg", "a=1", "b=2"];
    const { stdout } = await promisify(execFile)(INSPECTOR, [
      "--cli",
      "--config",
      file,
      "--server",
      "sandgate",
      ...call,
    ]);
    expect(JSON.parse(stdout)).toMatchObject({ content: [{ type: "text", text: "3" }] });
  });
});

describe("/mcp", () => {
  test("serves the inspector", async () => {
    const server = await startMcpServer([new WritingTool("look", { sideEffects: "read" }).tool]);
    const header = `Authorization: Bearer ${TOKENS.alice}`;
    const args = ["--cli", urlOf(server).href, "--transport", "http", "--header", header];
    const { stdout } = await promisify(execFile)(INSPECTOR, [...args, "--method", "tools/list"]);
    expect(JSON.parse(stdout)).toMatchObject({ tools: [{ name: "look" }] });
  });

  test("serves the client of the AI SDK", async () => {
    const server = await startMcpServer([new WritingTool("look", { sideEffects: "read" }).tool]);
    const headers = { authorization: `Bearer ${TOKENS.alice}` };
    const client = await createMCPClient({
      transport: { type: "http", url: urlOf(server).href, headers },
    });
    onTestFinished(() => client.close());
    const tools = await client.tools();
    const options = { toolCallId: "1", messages: [] };
    expect(await tools["look"]?.execute({ text: "hello" }, options as never)).toMatchObject({
      content: [{ type: "text", text: '{"written":"hello"}' }],
    });
  });
});
