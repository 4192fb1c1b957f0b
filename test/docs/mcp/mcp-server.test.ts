import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { afterAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { createFolder, sandgate } from "../../cli/sandgate.ts";

const text = readFileSync("docs/mcp-server.md", "utf8");
const files = Object.fromEntries(
  Array.from(text.matchAll(/```(?:yaml|ts) file=(\S+)\n(.*?)```/gs), ([, name = "", content = ""]) => [
    name,
    content,
  ]),
);

// Below the repository, so that the snippets find the package.
mkdirSync(".cache", { recursive: true });
const cache = mkdtempSync(".cache/docs-mcp-");
afterAll(() => rmSync(cache, { recursive: true }));

async function run(name: string): Promise<readonly string[]> {
  const printed: string[] = [];
  const log = vi.spyOn(console, "log").mockImplementation((line) => void printed.push(String(line)));
  const file = join(cache, name);
  writeFileSync(file, files[name] ?? "");
  await import(resolve(file));
  log.mockRestore();
  return printed;
}

describe("docs/mcp-server.md", () => {
  test("has a command that serves a client", async () => {
    const folder = await createFolder(files);
    const [, line = ""] = /```sh\nsandgate (mcp serve .*)\n```/.exec(text) ?? [];
    const args = line.replace("sandgate.yaml", join(folder, "sandgate.yaml")).split(" ");
    const main = resolve("src/cli/main.ts");
    const client = new Client({ name: "test", version: "1" });
    const transport = new StdioClientTransport({ command: process.execPath, args: [main, ...args] });
    await client.connect(transport as never);
    onTestFinished(() => client.close());
    expect(client.getInstructions()).toBe("Adds numbers exactly.");
    expect(await client.callTool({ name: "add", arguments: { a: 1, b: 2 } })).toMatchObject({
      content: [{ type: "text", text: "3" }],
    });
  });

  test("has a config without problems", async () => {
    const folder = await createFolder(files);
    expect(await sandgate(["check", "--config", join(folder, "sandgate.yaml")])).toMatchObject({ code: 0 });
  });

  test("has an example of a server", async () => {
    expect(await run("serve.ts")).toEqual([expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/mcp$/)]);
  });

  test("has an example of resources", async () => {
    expect(await run("offers.ts")).toEqual(["This is page start."]);
  });
});
