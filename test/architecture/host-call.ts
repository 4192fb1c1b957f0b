/** Prints which files of `src` a call of a host function enters, when everything that it needs was loaded and opened before. */
import { Session } from "node:inspector/promises";
import { fileURLToPath } from "node:url";
import { ToolDispatchEngine } from "../../src/engine/engine.ts";
import { ToolRegistry } from "../../src/engine/registry.ts";
import { HostPolicy } from "../../src/policy/policy.ts";
import { openSandboxes } from "../../src/sandboxes/open-sandboxes.ts";

const WARM_UP = 2_000;
const SRC = fileURLToPath(new URL("../../src/", import.meta.url));

await using sandboxes = await openSandboxes();
const registry = new ToolRegistry().register({
  name: "echo",
  description: "",
  inputSchema: { type: "object", properties: { text: { type: "string" } } },
  host: (input) => input,
});
const engine = new ToolDispatchEngine();
const context = { registry, policy: new HostPolicy(), sandboxes, sessionId: "s1" };
const session = new Session();
session.connect();
await session.post("Profiler.enable");
await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
for (let call = 0; call < WARM_UP; call++) await run();
// Only what is counted since the last time is reported.
await session.post("Profiler.takePreciseCoverage");
await run();
const { result } = await session.post("Profiler.takePreciseCoverage");
const entered = result
  .filter(({ url, functions }) => {
    return url.startsWith(`file://${SRC}`) && functions.some(({ ranges }) => (ranges[0]?.count ?? 0) > 0);
  })
  .map(({ url }) => fileURLToPath(url).slice(SRC.length));
process.stdout.write(JSON.stringify(entered.sort()));

async function run(): Promise<void> {
  const execution = await engine.dispatch({ id: "c1", name: "echo", arguments: '{"text":"x"}' }, context);
  if (!execution?.success) throw new Error(JSON.stringify(execution));
}
