// Run it after `npm run build`: node examples/custom-policy/main.ts
import { openSandboxes, ToolDispatchEngine, ToolRegistry } from "sandgate";
import { CarefulPolicy } from "./policy.ts";
import { tools } from "./tools.ts";

const registry = new ToolRegistry();
for (const tool of tools) registry.register(tool);
await using sandboxes = await openSandboxes();

const calls = registry.names.map((name, index) => ({
  id: `call_${index + 1}`,
  name,
  arguments: { text: "one two three" },
}));
const executions = await new ToolDispatchEngine().dispatchAll(calls, {
  registry,
  policy: new CarefulPolicy(),
  sandboxes,
  sessionId: "custom-policy",
});
for (const execution of executions) {
  if (execution === null) continue;
  const { toolName, sandbox, output, error } = execution;
  console.log(`${toolName} (${sandbox ?? "not run"}): ${error?.message ?? JSON.stringify(output)}`);
}
