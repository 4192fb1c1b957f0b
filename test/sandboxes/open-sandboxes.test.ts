import { createServer } from "node:http";
import { expect, test } from "vitest";
import type { DispatchContext } from "../../src/engine/call/context.ts";
import { ToolDispatchEngine } from "../../src/engine/engine.ts";
import { ToolRegistry } from "../../src/engine/registry.ts";
import { allow } from "../../src/policy/policy.ts";
import { openSandboxes } from "../../src/sandboxes/open-sandboxes.ts";
import { listen } from "../egress/servers.ts";

test("sandboxes share the connections of one egress", async () => {
  let connections = 0;
  const server = createServer((_request, response) => response.end("{}"));
  server.on("connection", () => connections++);
  const url = `http://127.0.0.1:${await listen(server)}/`;
  const source = `export default async () => (await fetch("${url}")).json();`;
  const registry = new ToolRegistry()
    .register({ name: "quickjs", description: "", inputSchema: {}, quickjs: { source } })
    .register({ name: "remote", description: "", inputSchema: {}, remote: { http: { url } } });
  const capabilities = { net: [{ origin: new URL(url).origin, addresses: ["127.0.0.1/32"] }] };
  const policy: DispatchContext["policy"] = {
    check: ({ tool }) => allow({ sandbox: tool.sandboxes[0] ?? "host", capabilities }),
  };
  const sandboxes = await openSandboxes({ workers: { threads: 1 } });
  const context = { registry, policy, sandboxes, sessionId: "session" };
  for (const name of ["quickjs", "remote", "quickjs"]) {
    const execution = await new ToolDispatchEngine().dispatch({ id: "1", name, arguments: {} }, context);
    expect(execution?.output).toEqual({});
  }
  expect(connections).toBe(1);
  await sandboxes.close();
});
