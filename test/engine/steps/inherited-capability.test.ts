import { expect, test } from "vitest";
import { ToolDispatchEngine } from "../../../src/engine/engine.ts";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import { RulePolicy } from "../../../src/policy/rule/rule-policy.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";

test("a tool with a frozen clock reads why it cannot call a host tool", async () => {
  const registry = new ToolRegistry();
  const common = { description: "", inputSchema: { type: "object" }, sideEffects: "read" } as const;
  const source = "export default async (input, { tools }) => tools.call('echo', {});";
  registry.register({ ...common, name: "outer", quickjs: { source } });
  registry.register({ ...common, name: "echo", host: () => 1 });
  const capabilities = { tools: ["echo"], frozenClock: 0 };
  const policy = new RulePolicy({
    rules: [
      { tools: ["outer"], effect: "allow", sandboxes: ["quickjs"], capabilities },
      { tools: ["echo"], effect: "allow", sandboxes: ["host"] },
    ],
  });
  await using sandboxes = await openSandboxes({ workers: { threads: 1 } });
  const context = { registry, policy, sandboxes, sessionId: "s1" };
  const execution = await new ToolDispatchEngine().dispatch(
    { id: "c1", name: "outer", arguments: {} },
    context,
  );
  expect(execution?.error?.message).toBe(
    "Tool 'echo' cannot run: the calling tool has the capability 'frozenClock', which the 'host' sandbox does not support",
  );
});
