// Dispatches calls in the sandboxes that need no other process, and calls that never end by themselves.
import { resolve } from "node:path";

/** Returns what each call gave: "works", or why it did not. The parameter is the module `sandgate`. */
export async function dispatch({
  allow,
  defineTool,
  EventStream,
  openSandboxes,
  ToolDispatchEngine,
  ToolRegistry,
}) {
  const results = {};
  try {
    const registry = new ToolRegistry();
    const inputSchema = { type: "object" };
    const add = (name, implementation) =>
      registry.register(defineTool({ name, description: name, inputSchema, ...implementation }));
    add("host", { host: () => "host" });
    add("worker", { host: { module: resolve("worker.mjs") } });
    add("quickjs", { quickjs: { source: "export default () => 'quickjs'" } });
    add("wasm", { wasm: { component: resolve("component.wasm"), tool: "echo" } });
    add("quickjs_deadline", { quickjs: { source: "export default () => { for (;;); }" } });
    add("wasm_deadline", { wasm: { component: resolve("component.wasm"), tool: "loop" } });

    const events = new EventStream();
    const details = {};
    events.on((event) => {
      if (event.type === "tool.failed") details[event.toolName] = event.detail;
    });
    await using sandboxes = await openSandboxes();
    const isEndless = (name) => name.endsWith("_deadline");
    const policy = {
      check: ({ tool }) =>
        allow({ sandbox: tool.sandboxes[0], ...(isEndless(tool.name) && { limits: { wallTimeMs: 500 } }) }),
    };
    const engine = new ToolDispatchEngine();
    for (const name of registry.names) {
      const call = { id: name, name, arguments: name === "wasm" ? { wasm: 1 } : {} };
      const { success, output, error } = await engine.dispatch(call, {
        registry,
        policy,
        sandboxes,
        events,
        sessionId: "environments",
      });
      const works = isEndless(name)
        ? error?.code === "timeout"
        : success && JSON.stringify(output) === (name === "wasm" ? '{"wasm":1}' : `"${name}"`);
      results[name] = works
        ? "works"
        : (details[name] ?? error?.message ?? `unexpected: ${JSON.stringify(output)}`);
    }
  } catch (error) {
    results.thrown = `${error.name}: ${error.message}`;
  }
  return results;
}
