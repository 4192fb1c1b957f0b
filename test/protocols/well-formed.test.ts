import { expect, test } from "vitest";
import type { ToolExecution } from "../../src/engine/call/execution.ts";
import type { ToolCall } from "../../src/engine/call.ts";
import { ToolRegistry } from "../../src/engine/registry.ts";
import { defineTool } from "../../src/engine/tool.ts";
import { HostPolicy } from "../../src/policy/policy.ts";
import { PROTOCOLS } from "../../src/protocols/by-format.ts";
import { FORMATS } from "../../src/protocols/formats.ts";
import { aiSdkToolSet } from "../../src/protocols/providers/ai-sdk-tool-set.ts";
import { openSandboxes } from "../../src/sandboxes/open-sandboxes.ts";

const HALF = "\ud83d";
const registry = new ToolRegistry().register(
  defineTool({
    name: "tool",
    description: `Half ${HALF}`,
    inputSchema: { type: "object" },
    host: () => HALF,
  }),
);

function executionOf({ id, name }: ToolCall, more: Partial<ToolExecution>): ToolExecution {
  return {
    callId: id,
    toolName: name,
    arguments: {},
    success: true,
    output: null,
    durationMs: 1,
    sandbox: "host",
    receipt: { enforced: {}, used: { wallTimeMs: 1 } },
    ...more,
  };
}

/** Returns whether a tree has an unpaired surrogate. */
function hasHalf(value: unknown): boolean {
  if (typeof value === "string") return !value.isWellFormed();
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([name, member]) => hasHalf(name) || hasHalf(member));
}

test.each(FORMATS)("%s never writes half a surrogate pair", (format) => {
  const protocol = PROTOCOLS[format](registry);
  const calls: ToolCall[] = [
    { id: `1${HALF}`, name: "tool", arguments: { [HALF]: [HALF] } },
    { id: "2", name: `x${HALF}`, arguments: '{"a":"\\ud83d"}' },
    { id: "3", name: "tool", arguments: HALF },
  ];
  const error = { code: "execution_error", message: HALF, effect: "none", userVisible: true } as const;
  const executions = calls.map((call, index) =>
    executionOf(call, index === 1 ? { success: false, error } : { output: index === 0 ? HALF : { a: HALF } }),
  );
  const messages = protocol.toMessages(calls, executions, { text: HALF });
  const results = protocol.toResults(calls, executions);
  const { tools } = protocol.toTools();
  expect(hasHalf([HALF])).toBe(true);
  expect(hasHalf(messages)).toBe(false);
  expect(hasHalf(results)).toBe(false);
  expect(hasHalf(JSON.parse(JSON.stringify(tools)))).toBe(false);
  expect(JSON.stringify(messages)).toContain("\ufffd");
});

test.each([
  "openai",
  "openai-responses",
  "cohere",
] as const)("%s never writes half a surrogate pair inside of arguments, which are a text there", (format) => {
  const call = { id: "1", name: "tool", arguments: '{"a":"\\ud83d", "b": "\\ud83d\\ude00"}' };
  const messages = PROTOCOLS[format](registry).toMessages([call], [executionOf(call, {})]);
  const text = JSON.stringify({ text: '{"a":"\ufffd", "b": "\\ud83d\\ude00"}' }).slice(9, -2);
  expect(JSON.stringify(messages)).toContain(text);
});

test("aiSdkToolSet never writes half a surrogate pair", async () => {
  await using sandboxes = await openSandboxes();
  const { tools } = aiSdkToolSet({ registry, policy: new HostPolicy(), sandboxes, sessionId: "test" });
  const write = tools["tool"]?.toModelOutput;
  expect(write?.({ output: HALF })).toEqual({ type: "text", value: "\ufffd" });
  expect(write?.({ output: [HALF] })).toEqual({ type: "json", value: ["\ufffd"] });
  expect(write?.({ output: { content: [{ type: "text", text: HALF }] } })).toEqual({
    type: "text",
    value: "\ufffd",
  });
});
