// Dispatches one call in every sandbox, and checks which files importing the library loads.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { registerHooks } from "node:module";
import { resolve } from "node:path";

const loaded = [];
const hooks = registerHooks({
  load(url, context, next) {
    if (url.includes("/sandgate/dist/")) loaded.push(url.replace(/.*\/dist\//, ""));
    return next(url, context);
  },
});
const { allow, defineTool, openSandboxes, ToolDispatchEngine, ToolRegistry } = await import("sandgate");
hooks.deregister();
assert.deepEqual(loaded, ["entry/index.js", "chunks/core.js"]);

const endpoint = createServer((_request, response) => response.end('"endpoint"'));
await new Promise((listening) => endpoint.listen(0, "127.0.0.1", listening));

const args = ["serve", "--config", "sandgate.yaml", "--listen", "127.0.0.1:0"];
const served = spawn(process.execPath, [resolve("node_modules/sandgate/dist/cli/main.js"), ...args], {
  stdio: ["ignore", "pipe", "inherit"],
});
process.once("exit", () => served.kill());
const [line] = await once(served.stdout, "data");
const [, address] = /^listening on (.+)\n$/.exec(String(line));

const registry = new ToolRegistry();
const inputSchema = { type: "object" };
const add = (name, implementation) =>
  registry.register(defineTool({ name, description: name, inputSchema, ...implementation }));
add("host", { host: () => "host" });
add("worker", { host: { module: resolve("worker.mjs") } });
add("quickjs", { quickjs: { source: "export default () => 'quickjs'" } });
add("wasm", { wasm: { component: resolve("component.wasm"), tool: "echo" } });
add("endpoint", { remote: { url: `http://127.0.0.1:${endpoint.address().port}/` } });
add("served", { remote: { executor: `http://${address}` } });

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
endpoint.close();
served.kill("SIGTERM");
assert.deepEqual(await once(served, "exit"), [0, null]);
