/** Prints which files of `src` a call of a host function enters, when everything that it needs was loaded and opened before. */
import { ToolDispatchEngine } from "../../src/engine/engine.ts";
import { ToolRegistry } from "../../src/engine/registry.ts";
import { HostPolicy } from "../../src/policy/policy.ts";
import { openSandboxes } from "../../src/sandboxes/open-sandboxes.ts";
import { enteredFiles } from "./entered-files.ts";

const WARM_UP = 2_000;

await using sandboxes = await openSandboxes();
const registry = new ToolRegistry().register({
  name: "echo",
  description: "",
  inputSchema: { type: "object", properties: { text: { type: "string" } } },
  host: (input) => input,
});
const engine = new ToolDispatchEngine();
const context = { registry, policy: new HostPolicy(), sandboxes, sessionId: "s1" };
process.stdout.write(JSON.stringify(await enteredFiles(run, WARM_UP)));

async function run(): Promise<void> {
  const execution = await engine.dispatch({ id: "c1", name: "echo", arguments: '{"text":"x"}' }, context);
  if (!execution?.success) throw new Error(JSON.stringify(execution));
}
