import { describe, expect, test } from "vitest";
import type { ToolCall } from "../../../src/engine/call.ts";
import { bedrockConverseProtocol } from "../../../src/protocols/providers/bedrock-converse.ts";
import { cohereChatProtocol, cohereSdkProtocol } from "../../../src/protocols/providers/cohere.ts";
import { googleGenerateProtocol } from "../../../src/protocols/providers/google.ts";
import { converse, registry } from "../converse.ts";
import { refusal } from "../refusals.ts";
import { readEvents, streamRefusal } from "../streams.ts";

const weather = { id: "1", name: "weather", arguments: { city: "Rome" } };
const broken = { id: "2", name: "broken", arguments: {} };
const print = { id: "3", name: "3d-print", arguments: {} };
const all = [weather, broken, print];
const inputSchema = registry.get("weather").inputSchema;
const sunny = '{"city":"Rome","celsius":21}';
const refused = "HTTP 500: connection refused";

describe("Bedrock Converse", () => {
  const bedrock = bedrockConverseProtocol(registry);
  const toolUse = ({ id, arguments: input }: ToolCall, name: string): object => ({
    toolUse: { toolUseId: id, name, input },
  });
  const message = {
    role: "assistant",
    content: [
      { text: "So." },
      toolUse(weather, "weather"),
      toolUse(broken, "broken"),
      toolUse(print, "_3d-print"),
    ],
  };

  test("reads a message and a response, offers tools, and writes results with a status", async () => {
    expect(bedrock.read(message)).toMatchObject({ calls: all, text: "So." });
    expect(bedrock.read({ output: { message } })).toMatchObject({ calls: all, text: "So." });
    expect(bedrock.toTools().tools[0]?.toolSpec).toMatchObject({
      name: "weather",
      inputSchema: { json: inputSchema },
    });
    const result = (toolUseId: string, text: string, status: string): object => ({
      toolResult: { toolUseId, content: [{ text }], status },
    });
    expect(bedrock.toMessages(all, await converse(all), { text: "So." })).toEqual([
      message,
      {
        role: "user",
        content: [
          result("1", sunny, "success"),
          result("2", refused, "error"),
          result("3", "done", "success"),
        ],
      },
    ]);
    expect(refusal(bedrock, { output: {} })).toBe("/output/message must be an object");
  });

  test("reads a stream", () => {
    const at = { contentBlockIndex: 1 };
    const events = [
      { messageStart: { role: "assistant" } },
      { contentBlockDelta: { contentBlockIndex: 0, delta: { text: "So." } } },
      { contentBlockStart: { ...at, start: { toolUse: { toolUseId: "1", name: "_3d-print" } } } },
      { contentBlockDelta: { ...at, delta: { toolUse: { input: '{"a":' } } } },
      { contentBlockDelta: { ...at, delta: { toolUse: { input: "1}" } } } },
      { contentBlockStop: at },
      { messageStop: { stopReason: "tool_use" } },
    ];
    expect(readEvents(bedrock, events)).toMatchObject({
      calls: [{ id: "1", name: "3d-print", arguments: '{"a":1}' }],
      text: "So.",
    });
  });
});

describe("Cohere Chat", () => {
  const cohere = cohereChatProtocol(registry);
  const toolCall = ({ id, arguments: args }: ToolCall, name: string): object => ({
    id,
    type: "function",
    function: { name, arguments: JSON.stringify(args) },
  });
  const message = {
    role: "assistant",
    tool_plan: "So.",
    tool_calls: [toolCall(weather, "weather"), toolCall(broken, "broken"), toolCall(print, "_3d-print")],
  };

  test("reads a message and a response, offers tools, and writes results", async () => {
    const { calls, text } = cohere.read({ message, finish_reason: "TOOL_CALL" });
    expect(text).toBe("So.");
    expect(calls[2]).toEqual({ id: "3", name: "3d-print", arguments: "{}" });
    expect(cohere.read(message)).toMatchObject({ calls, text });
    expect(cohere.toTools().tools[0]?.function).toMatchObject({ name: "weather", parameters: inputSchema });
    expect(cohere.toMessages(calls, await converse(calls), { text })).toEqual([
      message,
      { role: "tool", tool_call_id: "1", content: sunny },
      { role: "tool", tool_call_id: "2", content: refused },
      { role: "tool", tool_call_id: "3", content: "done" },
    ]);
    expect(cohere.read({ role: "assistant", content: [{ type: "text", text: "Hi" }] }).text).toBe("Hi");
  });

  test("writes the names of members that the provider's SDK takes", async () => {
    const sdk = cohereSdkProtocol(registry);
    const { calls, text } = sdk.read({ message, finishReason: "TOOL_CALL" });
    expect(sdk.toMessages(calls.slice(0, 1), (await converse(calls)).slice(0, 1), { text })).toEqual([
      { role: "assistant", toolPlan: "So.", toolCalls: message.tool_calls.slice(0, 1) },
      { role: "tool", toolCallId: "1", content: sunny },
    ]);
    expect(sdk.toMessages([], [], { text: "Hi" })).toEqual([{ role: "assistant", content: "Hi" }]);
    expect(cohere.toMessages([], [], { text: "Hi" })).toEqual([{ role: "assistant", content: "Hi" }]);
  });

  test("reads a stream in which a call without arguments has no delta for them", () => {
    const called = (id: string | undefined, name: string | undefined, args: string): object => ({
      delta: { message: { tool_calls: { id, function: { name, arguments: args } } } },
    });
    const events = [
      { type: "tool-plan-delta", delta: { message: { tool_plan: "So." } } },
      { type: "tool-call-start", index: 0, ...called("1", "weather", "") },
      { type: "tool-call-delta", index: 0, ...called(undefined, undefined, '{"a":1}') },
      { type: "tool-call-end", index: 0 },
      { type: "tool-call-start", index: 1, ...called("2", "_3d-print", "") },
      { type: "tool-call-end", index: 1 },
      { type: "content-delta", index: 0, delta: { message: { content: { text: " Done." } } } },
      { type: "message-end", delta: { finish_reason: "TOOL_CALL" } },
    ];
    expect(readEvents(cohere, events)).toMatchObject({
      calls: [
        { id: "1", name: "weather", arguments: '{"a":1}' },
        { id: "2", name: "3d-print", arguments: "{}" },
      ],
      text: "So. Done.",
    });
  });
});

describe("Google's generateContent", () => {
  const google = googleGenerateProtocol(registry);
  const chunk = (...parts: object[]): object => ({ candidates: [{ content: { role: "model", parts } }] });
  const call = (functionCall: object): object => ({ functionCall });

  test("reads a turn and a response, generates missing ids, and does not send them to the provider", async () => {
    const parts = [
      { text: "Hm", thought: true },
      { text: "So." },
      call({ name: "weather", args: { city: "Rome" } }),
      call({ id: "2", name: "broken" }),
      call({ name: "_3d-print", args: {} }),
    ];
    const { calls, text } = google.read(chunk(...parts));
    expect(text).toBe("So.");
    expect(calls.map(({ name, arguments: args }) => ({ name, arguments: args }))).toEqual(
      all.map(({ name, arguments: args }) => ({ name, arguments: args })),
    );
    expect(new Set(calls.map(({ id }) => id)).size).toBe(3);
    expect(google.read({ role: "model", parts }).calls).toHaveLength(3);
    expect(google.toMessages(calls, await converse(calls), { text })).toEqual([
      {
        role: "model",
        parts: [parts[1], parts[2], call({ id: "2", name: "broken", args: {} }), parts[4]],
      },
      {
        role: "user",
        parts: [
          { functionResponse: { name: "weather", response: { output: sunny } } },
          { functionResponse: { id: "2", name: "broken", response: { error: refused } } },
          { functionResponse: { name: "_3d-print", response: { output: "done" } } },
        ],
      },
    ]);
    const [tool] = google.toTools().tools;
    expect(tool?.functionDeclarations[0]).toMatchObject({
      name: "weather",
      parametersJsonSchema: inputSchema,
    });
    expect(refusal(google, { role: "user", parts })).toBe('/role must be "model"');
  });

  const partial = (jsonPath: string, value: object): object => ({
    partialArgs: [{ jsonPath, ...value }],
    willContinue: true,
  });

  test("reads a stream of complete calls and of calls in parts", () => {
    const events = [
      chunk({ text: "So." }, call({ id: "1", name: "weather", args: { city: "Rome" } })),
      chunk(call({ id: "2", name: "_3d-print", willContinue: true })),
      chunk(call(partial("$.parts[0].name", { stringValue: "gear ", willContinue: true }))),
      chunk(call(partial("$.parts[0].name", { stringValue: "⚙" }))),
      chunk(call(partial("$.parts[1]['a.b']", { numberValue: 1.5 }))),
      chunk(call(partial('$["fast"]', { boolValue: true })), call(partial("$.color", { nullValue: null }))),
      chunk(call({})),
      { candidates: [{ finishReason: "STOP" }] },
      { usageMetadata: {} },
    ];
    expect(readEvents(google, events)).toMatchObject({
      calls: [
        weather,
        {
          id: "2",
          name: "3d-print",
          arguments: { parts: [{ name: "gear ⚙" }, { "a.b": 1.5 }], fast: true, color: null },
        },
      ],
      text: "So.",
    });
  });

  test.each([
    "",
    "$",
    "x",
    "$.a..b",
    "$[1]",
    "$.list[4294967294]",
    "$.text.x",
    "$.list.x",
    `$${".a".repeat(300)}`,
  ])("refuses a part with the invalid path %j", (path) => {
    const events = [
      chunk(call({ id: "1", name: "weather", willContinue: true })),
      chunk(call(partial("$.list[0]", { numberValue: 1 })), call(partial("$.text", { stringValue: "x" }))),
      chunk(call(partial(path, { numberValue: 1 }))),
    ];
    const stream = google.stream();
    expect(streamRefusal(stream, () => events.map((event) => stream.pushEvent(event)))).toMatch(
      /^event 3: \S+\/jsonPath is not a valid path$/,
    );
  });

  test("changes no prototype for any path", () => {
    const stream = google.stream();
    const calls = [
      call({ id: "1", name: "weather", willContinue: true }),
      call(partial("$.__proto__.polluted", { boolValue: true })),
      call(partial("$.constructor.prototype.polluted", { boolValue: true })),
      call({}),
    ].flatMap((part) => stream.pushEvent(chunk(part)));
    expect(Object.keys(calls[0]?.arguments ?? {})).toEqual(["__proto__", "constructor"]);
    expect({}).not.toHaveProperty("polluted");
  });

  test("refuses a call inside another one, and a provider error", () => {
    const open = call({ id: "1", name: "weather", willContinue: true });
    const stream = google.stream();
    expect(streamRefusal(stream, () => stream.pushEvent(chunk(open, open)))).toContain(
      "before the previous one has ended",
    );
    expect(streamRefusal(google.stream(), (other) => other.pushEvent({ error: { code: 500 } }))).toBe(
      "event 1: /error reports a provider error",
    );
  });
});
