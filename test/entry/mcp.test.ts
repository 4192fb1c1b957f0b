import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

test("sandgate, sandgate/mcp and sandgate/server are loaded without the SDK, and a use names what to install", async () => {
  const entry = (name: string): string => JSON.stringify(import.meta.resolve(`../../src/entry/${name}.ts`));
  const program = `
    import { registerHooks } from "node:module";
    registerHooks({
      resolve: (name, context, next) => {
        if (name.startsWith("@modelcontextprotocol/")) throw new Error("Cannot find package " + name);
        return next(name, context);
      },
    });
    const { openSandboxes, ToolRegistry, HostPolicy } = await import(${entry("index")});
    const { openMcp, openMcpServer } = await import(${entry("mcp")});
    const { openSessions } = await import(${entry("sessions")});
    await import(${entry("server")});
    const registry = new ToolRegistry();
    await using sandboxes = await openSandboxes();
    await using mcp = await openMcp({ registry, sandboxes, servers: { s: { url: "http://127.0.0.1:9/" } } });
    console.log(mcp.servers.get("s").problem);
    await using sessions = await openSessions({ registry, sandboxes, policy: new HostPolicy() });
    console.log(await openMcpServer({ sessions, registry }).then(() => "opened", ({ message }) => message));
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", program]);
  const lines = stdout.trim().split("\n");
  expect(lines).toHaveLength(2);
  expect(lines[0]).toContain("MCP needs the package @modelcontextprotocol/client");
  expect(lines[1]).toContain("the package @modelcontextprotocol/server");
}, 30_000);
