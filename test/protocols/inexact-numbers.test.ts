import { describe, expect, test } from "vitest";
import type { ToolCall } from "../../src/engine/call.ts";
import { ToolDispatchEngine } from "../../src/engine/engine.ts";
import { ToolRegistry } from "../../src/engine/registry.ts";
import { defineTool } from "../../src/engine/tool.ts";
import { HostPolicy } from "../../src/policy/policy.ts";
import { aiSdkToolSet } from "../../src/protocols/providers/ai-sdk-tool-set.ts";
import { anthropicMessagesProtocol } from "../../src/protocols/providers/anthropic.ts";
import { bedrockConverseProtocol } from "../../src/protocols/providers/bedrock-converse.ts";
import { googleGenerateProtocol } from "../../src/protocols/providers/google.ts";
import { nativeProtocol } from "../../src/protocols/providers/native.ts";
import { openSandboxes } from "../../src/sandboxes/open-sandboxes.ts";

const registry = new ToolRegistry().register(
  defineTool({
    name: "find",
    description: "Finds",
    inputSchema: { type: "object", properties: { id: { type: "number" } } },
    host: ({ id }) => id ?? null,
  }),
);

/** Dispatches the only call, and returns its output or the text of its error. */
async function resultOf(calls: readonly ToolCall[]): Promise<unknown> {
  await using sandboxes = await openSandboxes();
  const ctx = { registry, policy: new HostPolicy(), sandboxes, sessionId: "test" };
  const [execution] = await new ToolDispatchEngine().dispatchTurn({ calls }, ctx);
  return execution?.success ? execution.output : execution?.error?.message;
}

const REFUSED =
  "Invalid arguments: an integer that a double cannot hold exactly (send it as a string) at position 6";

/** Bodies with a call whose argument `id` is written like this. */
const BODIES: Readonly<Record<string, (id: string) => readonly ToolCall[]>> = {
  "Anthropic's message": (id) =>
    anthropicMessagesProtocol(registry).read(
      `{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"find","input":{"id":${id}}}]}`,
    ).calls,
  "Google's response": (id) =>
    googleGenerateProtocol(registry).read(
      `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"find","args":{"id":${id}}}}]}}]}`,
    ).calls,
  "Google's stream": (id) =>
    googleGenerateProtocol(registry)
      .stream()
      .push(
        `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"find","args":{"id":${id}}}}]}}]}\n`,
      ),
  "Google's stream of partial arguments": (id) => {
    const part = (call: string): string =>
      `{"candidates":[{"content":{"parts":[{"functionCall":{${call}}}]}}]}\n`;
    const pieces = `"willContinue":true,"partialArgs":[{"jsonPath":"$.id","numberValue":${id}}]`;
    const begun = part('"name":"find","willContinue":true');
    return googleGenerateProtocol(registry)
      .stream()
      .push(begun + part(pieces) + part(""));
  },
  "Bedrock's response": (id) =>
    bedrockConverseProtocol(registry).read(
      `{"output":{"message":{"role":"assistant","content":[{"toolUse":{"toolUseId":"1","name":"find","input":{"id":${id}}}}]}}}`,
    ).calls,
  "a native list": (id) =>
    nativeProtocol(registry).read(`[{"id":"1","name":"find","arguments":{"id":${id}}}]`).calls,
};

describe.each(Object.entries(BODIES))("%s", (_, read) => {
  test.each([
    "12345678901234567890",
    "9007199254740993",
    "-9007199254740993",
  ])("with the integer %s is refused", async (id) => {
    expect(await resultOf(read(id))).toBe(REFUSED);
  });

  test.each([
    "9007199254740992",
    "1e30",
    "1.5",
    "1000000000000000000",
  ])("with the number %s is exact", async (id) => {
    expect(await resultOf(read(id))).toBe(Number(id));
  });
});

describe("arguments whose text is lost, because an SDK has parsed them,", () => {
  const parsed = (id: number): readonly ToolCall[] =>
    anthropicMessagesProtocol(registry).read({
      role: "assistant",
      content: [{ type: "tool_use", id: "1", name: "find", input: { id } }],
    }).calls;

  test.each([
    Number("12345678901234567890"),
    9007199254740992,
    Number("1234567890123456789012"),
  ])("are refused if %d may be another integer", async (id) => {
    expect(await resultOf(parsed(id))).toBe(
      "Invalid arguments: /id is an integer that a double cannot hold exactly (send it as a string)",
    );
  });

  test.each([
    Number.MAX_SAFE_INTEGER,
    1e30,
    6.02214076e23,
    0.1 + 0.2,
    -0,
  ])("are exact with %d", async (id) => {
    expect(await resultOf(parsed(id))).toBe(id === 0 ? 0 : id);
  });

  test("are refused by aiSdkToolSet, too", async () => {
    await using sandboxes = await openSandboxes();
    const { tools } = aiSdkToolSet({ registry, policy: new HostPolicy(), sandboxes, sessionId: "test" });
    const run = tools["find"]?.execute({ id: 2 ** 60 }, { toolCallId: "1" });
    await expect(run).rejects.toThrow("/id is an integer that a double cannot hold exactly");
  });
});

test("a path of Google's partial arguments cannot lead into such a number", () => {
  const part = (piece: string): string =>
    `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"find","partialArgs":[${piece}]}}]}}]}\n`;
  const number = '{"jsonPath":"$.id","numberValue":12345678901234567890}';
  const inside = '{"jsonPath":"$.id.x","numberValue":1}';
  expect(() =>
    googleGenerateProtocol(registry)
      .stream()
      .push(part(`${number},${inside}`)),
  ).toThrow("/jsonPath is not a valid path");
});
