// What a user of the packed package does: one call in every sandbox, by the library and by the command.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createServer } from "node:http";
import { resolve } from "node:path";
import { allow, defineTool, openSandboxes, ToolDispatchEngine, ToolRegistry } from "sandgate";

const server = createServer((_request, response) => response.end('"remote"'));
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const url = `http://127.0.0.1:${server.address().port}/`;

const registry = new ToolRegistry();
const inputSchema = { type: "object" };
const add = (name, implementation) =>
  registry.register(defineTool({ name, description: name, inputSchema, ...implementation }));
add("host", { host: () => "host" });
add("worker", { worker: { module: resolve("worker.mjs") } });
add("quickjs", { quickjs: { source: "export default () => 'quickjs'" } });
add("wasm", { wasm: { component: resolve("component.wasm"), tool: "echo" } });
add("remote", { remote: { url } });

await using sandboxes = await openSandboxes({ wasm: { cacheDirectory: resolve("cache") } });
const policy = { check: ({ tool }) => allow({ sandbox: tool.sandboxes[0] }) };
const ctx = { registry, policy, sandboxes, sessionId: "packed" };
const engine = new ToolDispatchEngine();
for (const name of registry.names) {
  const execution = await engine.dispatch(
    { id: name, name, arguments: name === "wasm" ? { wasm: 1 } : {} },
    ctx,
  );
  assert.deepEqual(execution.output, name === "wasm" ? { wasm: 1 } : name, JSON.stringify(execution));
}
server.close();

const command = resolve("node_modules/sandgate/dist/cli/main.js");
const printed = execFileSync(
  process.execPath,
  [command, "dispatch", "message.json", "--config", "sandgate.yaml", "--output", "json"],
  { encoding: "utf8" },
);
const outputs = JSON.parse(printed).executions.map(({ output }) => output);
assert.deepEqual(outputs, ["worker", "quickjs"]);
console.log(`Node ${process.versions.node}: library and command work from the package`);
