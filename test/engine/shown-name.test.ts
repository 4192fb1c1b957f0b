import { expect, test } from "vitest";
import { ToolDispatchEngine } from "../../src/engine/engine.ts";
import { allow, ask, deny } from "../../src/policy/policy.ts";
import { openAiChatProtocol } from "../../src/protocols/providers/openai/chat.ts";
import { contextFor, hostTool } from "./helpers.ts";

const engine = new ToolDispatchEngine();
const call = (name: string) => ({ id: "1", name, arguments: {} });

test("The model reads the names that it was offered, wherever a text names a tool", async () => {
  const tools = ["math.factorial", "fs/read"].map((name) => hostTool(() => 1, { name }));
  const ctx = await contextFor(tools);
  const protocol = openAiChatProtocol(ctx.registry);
  const offered = { ...ctx, toolAlias: protocol.toAlias };
  const texts = [
    await engine.dispatch(call("math_root"), offered),
    await engine.dispatch(call("math.factorial"), { ...offered, policy: { check: () => deny("no") } }),
    await engine.dispatch(call("fs/read"), { ...offered, hooks: { onToolCall: () => ({ deny: "no" }) } }),
    await engine.dispatch(call("fs/read"), { ...offered, hooks: { onToolStart: () => ({ deny: "no" }) } }),
    await engine.dispatch(call("fs/read"), {
      ...offered,
      policy: { check: () => allow({ sandbox: "wasm" }) },
    }),
    await engine.dispatch(call("fs/read"), {
      ...offered,
      policy: { check: () => allow({ sandbox: "host", limits: { memoryBytes: 1 } }) },
    }),
    await engine.dispatch(call("fs/read"), {
      ...offered,
      upperBound: { limits: {}, capabilities: {}, sandboxes: ["quickjs"] },
    }),
    await engine.dispatch(call("fs/read"), { ...offered, principal: {} as never }),
    await engine.dispatch(call("fs/read"), { ...offered, policy: { check: () => ask("?") } }),
  ].map((execution) => execution?.error?.message);
  expect(texts).toEqual([
    "Tool 'math_root' not found. Available: [math_factorial, fs_read]",
    "Permission denied: tool 'math_factorial' is disabled by policy",
    "Permission denied: tool 'fs_read' was refused by a hook",
    "Permission denied: tool 'fs_read' was refused by a hook",
    "Tool 'fs_read' cannot run now: its 'wasm' sandbox is not available",
    "Tool 'fs_read' was not run: its memory limit cannot be enforced in the 'host' sandbox",
    "Permission denied: tool 'fs_read' is disabled by policy",
    "Permission denied: the caller of tool 'fs_read' could not be identified",
    "Permission denied: tool 'fs_read' requires confirmation, and no approver is available",
  ]);
});

test("A mapping that throws leaves the tool's own name", async () => {
  const ctx = await contextFor([hostTool(() => 1, { name: "fs/read" })], {
    policy: { check: () => deny("no") },
    toolAlias: () => {
      throw new Error("broken");
    },
  });
  const execution = await engine.dispatch(call("fs/read"), ctx);
  expect(execution?.error?.message).toBe("Permission denied: tool 'fs/read' is disabled by policy");
});
