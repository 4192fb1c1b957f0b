import { expect, test } from "vitest";
import { CarefulPolicy } from "../../examples/custom-policy/policy.ts";
import { tools } from "../../examples/custom-policy/tools.ts";
import { EventStream } from "../../src/engine/call/events.ts";
import { ToolDispatchEngine } from "../../src/engine/engine.ts";
import { ToolRegistry } from "../../src/engine/registry.ts";
import { openSandboxes } from "../../src/sandboxes/open-sandboxes.ts";

test("a custom policy of ten lines decides where each call runs, and which calls are denied", async () => {
  const registry = new ToolRegistry();
  for (const tool of tools) registry.register(tool);
  const details: unknown[] = [];
  const events = new EventStream();
  events.on((event) => {
    if (event.type === "tool.failed") details.push(event.detail);
  });
  await using sandboxes = await openSandboxes();
  const calls = registry.names.map((name) => ({ id: name, name, arguments: { text: "one two" } }));
  const executions = await new ToolDispatchEngine().dispatchAll(calls, {
    registry,
    sandboxes,
    events,
    policy: new CarefulPolicy(),
    sessionId: "s",
  });
  const denied = { success: false, sandbox: null, error: { code: "permission_denied", effect: "none" } };
  expect(executions).toMatchObject([
    { toolName: "count_words", success: true, sandbox: "host", output: 2 },
    { toolName: "shout", success: true, sandbox: "quickjs", output: "ONE TWO" },
    { toolName: "log_line", ...denied },
    { toolName: "wipe_disk", ...denied },
  ]);
  expect(executions[1]?.receipt.enforced.wallTimeMs).toBe(1_000);
  expect(details).toEqual(["it must not run in the host sandbox", "destructive tools are disabled"]);
});
