import { generateText, type ModelMessage, stepCountIs, streamText } from "ai";
import { convertArrayToReadableStream, MockLanguageModelV4 } from "ai/test";
import { describe, expect, expectTypeOf, onTestFinished, test } from "vitest";
import type { DispatchContext } from "../../../src/engine/call/context.ts";
import { type DispatchEvent, EventStream } from "../../../src/engine/call/events.ts";
import { ToolDispatchEngine } from "../../../src/engine/engine.ts";
import type { JsonValue } from "../../../src/json/value.ts";
import { ask, deny, HostPolicy } from "../../../src/policy/policy.ts";
import { aiSdkProtocol } from "../../../src/protocols/providers/ai-sdk.ts";
import { aiSdkToolSet } from "../../../src/protocols/providers/ai-sdk-tool-set.ts";
import { openSandboxes } from "../../../src/sandboxes/open-sandboxes.ts";
import { converse, PIXEL, registry } from "../converse.ts";
import { refusal } from "../refusals.ts";
import { readEvents, streamRefusal } from "../streams.ts";

const protocol = aiSdkProtocol(registry);
const part = (toolCallId: string, toolName: string, input: unknown) =>
  ({ type: "tool-call", toolCallId, toolName, input: JSON.stringify(input) }) as const;
const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
const said = { type: "text", text: "Let me see." } as const;
const results = [
  {
    content: [
      said,
      part("1", "weather", { city: "Rome" }),
      part("2", "weather", { city: 5 }),
      part("3", "broken", {}),
      part("4", "picture", { type: "image/png" }),
      part("5", "_3d-print", {}),
    ],
    finishReason: { unified: "tool-calls", raw: undefined } as const,
    usage,
    warnings: [],
  },
  {
    content: [{ type: "text", text: "21 degrees" } as const],
    finishReason: { unified: "stop", raw: undefined } as const,
    usage,
    warnings: [],
  },
];

async function openContext(more: Partial<DispatchContext> = {}): Promise<DispatchContext> {
  const sandboxes = await openSandboxes();
  onTestFinished(() => sandboxes[Symbol.asyncDispose]());
  return { registry, policy: new HostPolicy(), sandboxes, sessionId: "test", ...more };
}

/** The results that the model gets in the second step. */
function toldResults(prompt: readonly { readonly role: string; readonly content: unknown }[] = []): unknown {
  return prompt.find(({ role }) => role === "tool")?.content;
}

const told = [
  { toolCallId: "1", output: { type: "json", value: { city: "Rome", celsius: 21 } } },
  { toolCallId: "2", output: { type: "error-text", value: "Invalid arguments: /city must be string" } },
  { toolCallId: "3", output: { type: "error-text", value: "HTTP 500: connection refused" } },
  {
    toolCallId: "4",
    output: {
      type: "content",
      value: [
        { type: "text", text: "a pixel" },
        { type: "file", mediaType: "image/png", data: { type: "data", data: PIXEL } },
      ],
    },
  },
  { toolCallId: "5", toolName: "_3d-print", output: { type: "text", value: "done" } },
];

describe("aiSdkToolSet", () => {
  test("serves generateText, with errors and images", async () => {
    const model = new MockLanguageModelV4({ doGenerate: results });
    const { tools, problems } = aiSdkToolSet(await openContext());
    const { text } = await generateText({ model, tools, prompt: "Rome?", stopWhen: stepCountIs(2) });
    expect({ text, problems }).toEqual({ text: "21 degrees", problems: [] });
    expect(toldResults(model.doGenerateCalls[1]?.prompt)).toMatchObject(told);
  });

  test("serves streamText", async () => {
    const doStream = results.map(({ content, finishReason }) => ({
      stream: convertArrayToReadableStream([
        { type: "stream-start" as const, warnings: [] },
        ...content.filter((part) => part.type === "tool-call"),
        { type: "finish" as const, finishReason, usage },
      ]),
    }));
    const model = new MockLanguageModelV4({ doStream });
    const { tools } = aiSdkToolSet(await openContext());
    await streamText({ model, tools, prompt: "Rome?", stopWhen: stepCountIs(2) }).consumeStream();
    expect(toldResults(model.doStreamCalls[1]?.prompt)).toMatchObject(told);
  });

  test("has the given engine dispatch every call, also those that the SDK refuses", async () => {
    const dispatched: string[] = [];
    const engine = new ToolDispatchEngine();
    const counting: Pick<ToolDispatchEngine, "dispatch"> = {
      dispatch: (call, ctx) => {
        dispatched.push(call.name);
        return engine.dispatch(call, ctx);
      },
    };
    const { tools, repairToolCall } = aiSdkToolSet(await openContext(), { engine: counting });
    await tools["weather"]?.execute({ city: "Rome" }, { toolCallId: "1" });
    const toolCall = { type: "tool-call", toolCallId: "2", toolName: "gone", input: "{" } as const;
    await repairToolCall({ toolCall } as never);
    expect(dispatched).toEqual(["weather", "gone"]);
  });

  test("gives the model results within the budget of the context", async () => {
    const model = new MockLanguageModelV4({ doGenerate: results });
    const { tools } = aiSdkToolSet(await openContext({ resultBudget: { chars: 10, head: 1 } }));
    await generateText({ model, tools, prompt: "Rome?", stopWhen: stepCountIs(2) });
    const outputs = toldResults(model.doGenerateCalls[1]?.prompt);
    expect(outputs).toMatchObject([
      { output: { type: "text", value: '{"city":"R' } },
      { output: { type: "error-text", value: expect.stringMatching(/^.{10}$/) } },
      { output: { type: "error-text", value: expect.stringMatching(/^.{10}$/) } },
      { output: { type: "content", value: [{ type: "text", text: "a pixel" }, { type: "file" }] } },
      { output: { type: "text", value: "done" } },
    ]);
  });

  test("tells the model which arguments a person changed, before the result", async () => {
    const { tools } = aiSdkToolSet(
      await openContext({
        policy: { check: () => ask("Look it up?", { grant: { sandbox: "host" } }) },
        confirm: async () => ({ decision: "allow", by: "eve", arguments: { city: "Oslo" } }),
        resultBudget: { chars: 100 },
      }),
    );
    const output = await tools["weather"]?.execute({ city: "Rome" }, { toolCallId: "1" });
    expect(tools["weather"]?.toModelOutput({ output: output as JsonValue })).toEqual({
      type: "text",
      value: '[A person changed the arguments to {"city":"Oslo"}]\n{"city":"Oslo","celsius":21}',
    });
  });

  test("names tools in errors as the model was offered them, or as the context says", async () => {
    const policy = { check: () => deny("closed") };
    const messageOf = async (more: Partial<DispatchContext>): Promise<unknown> => {
      const { tools } = aiSdkToolSet(await openContext({ policy, ...more }));
      return tools["_3d-print"]?.execute({}, { toolCallId: "1" }).catch((error) => error.message);
    };
    expect(await messageOf({})).toBe("Permission denied: tool '_3d-print' is disabled by policy");
    expect(await messageOf({ toolAlias: (name) => `my-${name}` })).toMatch(/tool 'my-3d-print' is disabled/);
  });

  test("offers the schemas unchanged, or in strict form", async () => {
    const model = new MockLanguageModelV4({ doGenerate: results.slice(1).concat(results.slice(1)) });
    const ctx = await openContext();
    for (const strict of [false, true]) {
      await generateText({ model, tools: aiSdkToolSet(ctx, { strict }).tools, prompt: "Hi" });
    }
    const [asItIs, strict] = model.doGenerateCalls.map(({ tools }) => tools?.[0]);
    const inputSchema = registry.get("weather").inputSchema;
    expect(asItIs).toMatchObject({ name: "weather", inputSchema });
    expect(strict).toMatchObject({
      strict: true,
      inputSchema: { ...inputSchema, additionalProperties: false },
    });
    expect(asItIs).not.toHaveProperty("inputSchema.additionalProperties");
  });

  test.each([
    ["of an unknown tool", part("1", "none", {}), "not_found", "Tool 'none' not found"],
    [
      "with broken JSON",
      { ...part("1", "weather", {}), input: '{"city":' },
      "validation_error",
      "Invalid JSON: unexpected end at position 8",
    ],
    [
      "that the engine would accept",
      { ...part("1", "weather", {}), input: '{"city":"Rome","constructor":{"prototype":1}}' },
      "validation_error",
      "Invalid tool call: the SDK refused it",
    ],
  ])("reports a call that the SDK refuses, %s, as an event, and does not run it", async (_, call, code, text) => {
    const events = new EventStream();
    const seen: DispatchEvent[] = [];
    events.on((event) => seen.push(event));
    const doGenerate = [{ ...results[0], content: [call] }, results[1]] as typeof results;
    const model = new MockLanguageModelV4({ doGenerate });
    const { tools, repairToolCall } = aiSdkToolSet(await openContext({ events }));
    const options = { model, tools, repairToolCall, prompt: "Rome?", stopWhen: stepCountIs(2) };
    expect((await generateText(options)).text).toBe("21 degrees");
    expect(seen.map(({ type }) => type)).toEqual(["tool.failed"]);
    expect(seen[0]).toMatchObject({ execution: { error: { code, message: expect.stringContaining(text) } } });
  });

  test.each([
    "length",
    "content-filter",
    "error",
    "other",
  ] as const)("runs no call of a message that stopped for the reason '%s'", async (unified) => {
    const events = new EventStream();
    const seen: DispatchEvent[] = [];
    events.on((event) => seen.push(event));
    const content = [{ ...part("1", "weather", {}), input: "" }];
    const doGenerate = [{ content, finishReason: { unified, raw: unified }, usage, warnings: [] }];
    const model = new MockLanguageModelV4({ doGenerate });
    const { tools, repairToolCall } = aiSdkToolSet(await openContext({ events }));
    await generateText({ model, tools, repairToolCall, prompt: "Rome?", stopWhen: stepCountIs(2) });
    expect(seen).toEqual([]);
    expect(model.doGenerateCalls).toHaveLength(1);
  });

  test("throws for a call that a hook aborted, and cancels with the SDK's signal", async () => {
    const aborting = aiSdkToolSet(await openContext({ hooks: { onToolCall: () => "abort" } })).tools;
    const options = { toolCallId: "1" };
    await expect(aborting["weather"]?.execute({ city: "Rome" }, options)).rejects.toThrow(
      "Tool call was withdrawn",
    );
    const { tools } = aiSdkToolSet(await openContext({ signal: new AbortController().signal }));
    const cancelled = { ...options, abortSignal: AbortSignal.abort() };
    await expect(tools["weather"]?.execute({ city: "Rome" }, cancelled)).rejects.toThrow(/cancelled/i);
  });
});

const calls = [
  { id: "1", name: "weather", arguments: { city: "Rome" } },
  { id: "2", name: "3d-print", arguments: {} },
];
const content = [
  said,
  { type: "tool-call", toolCallId: "1", toolName: "weather", input: { city: "Rome" } },
  { type: "tool-call", toolCallId: "9", toolName: "search", input: {}, providerExecuted: true },
  { type: "tool-call", toolCallId: "2", toolName: "_3d-print", input: {} },
];

describe("aiSdkProtocol", () => {
  test("reads a model message, a result, and a list of calls", async () => {
    expect(protocol.read({ role: "assistant", content })).toMatchObject({ calls, text: "Let me see." });
    expect(protocol.read({ content, finishReason: "tool-calls" })).toMatchObject({
      calls,
      text: "Let me see.",
    });
    expect(protocol.read(content.slice(1))).toMatchObject({ calls, text: "" });
    expect(protocol.read({ role: "assistant", content: "Hi" })).toMatchObject({ calls: [], text: "Hi" });
  });

  test("reads the result of generateText for tools that it does not execute", async () => {
    const model = new MockLanguageModelV4({ doGenerate: results.slice(0, 1) });
    const { tools } = protocol.toTools();
    const { toolCalls, response } = await generateText({ model, tools, prompt: "Rome?" });
    expect(protocol.read(toolCalls).calls.map(({ id, name }) => `${id} ${name}`)).toEqual([
      "1 weather",
      "2 weather",
      "3 broken",
      "4 picture",
      "5 3d-print",
    ]);
    expect(protocol.read(response.messages[0]).calls).toEqual(protocol.read(toolCalls).calls);
  });

  test("writes a tool message that marks errors", async () => {
    const failing = { id: "3", name: "broken", arguments: {} };
    const all = [...calls, failing];
    const messages = protocol.toMessages(all, await converse(all), { text: "Let me see." });
    expect(messages).toMatchObject([
      { role: "assistant", content: [said, content[1], content[3], { toolName: "broken" }] },
      {
        role: "tool",
        content: [
          {
            toolCallId: "1",
            toolName: "weather",
            output: { type: "text", value: '{"city":"Rome","celsius":21}' },
          },
          { toolCallId: "2", toolName: "_3d-print", output: { type: "text", value: "done" } },
          { toolCallId: "3", output: { type: "error-text", value: "HTTP 500: connection refused" } },
        ],
      },
    ]);
    expectTypeOf(messages).toExtend<readonly ModelMessage[]>();
    const model = new MockLanguageModelV4({ doGenerate: results.slice(1) });
    await generateText({
      model,
      messages: [{ role: "user", content: "Rome?" }, ...(messages as ModelMessage[])],
    });
    expect(toldResults(model.doGenerateCalls[0]?.prompt)).toMatchObject([{ toolCallId: "1" }, {}, {}]);
  });

  test.each([
    ["a model", { id: "1" }, { delta: "Hi" }, "tool-call", '{"city":"Rome"}'],
    ["streamText", { id: "1" }, { text: "Hi" }, "tool-call", { city: "Rome" }],
    ["a browser", { toolCallId: "1" }, { delta: "Hi" }, "tool-input-available", { city: "Rome" }],
  ])("reads the stream of %s", (_, id, text, type, input) => {
    const events = [
      { type: "text-delta", ...text },
      { type: "tool-input-start", ...id, toolName: "weather" },
      { type: "tool-input-delta", ...id, delta: '{ "city"' },
      { type: "tool-input-delta", ...id, delta: ':"Rome"}' },
      { type, toolCallId: "1", toolName: "weather", input },
      { type: "tool-call", toolCallId: "2", toolName: "search", input: {}, providerExecuted: true },
      { type: "finish" },
    ];
    expect(readEvents(protocol, events)).toMatchObject({
      // The model's own text, in which numbers are as it wrote them.
      calls: [{ id: "1", name: "weather", arguments: '{ "city":"Rome"}' }],
      text: "Hi",
    });
    const [, start] = events;
    expect(streamRefusal(protocol.stream(), (stream) => [stream.pushEvent(start), stream.end()])).toBe(
      "the message ends inside a call, without its 'finish'",
    );
  });

  test("refuses invalid messages with pointer and reason", () => {
    expect(refusal(protocol, { role: "user", content })).toBe('/role must be "assistant"');
    expect(refusal(protocol, [{ type: "tool-call", toolCallId: "1", toolName: "x" }])).toBe(
      "/0/input is missing",
    );
    expect(refusal(protocol, { content: 7 })).toBe("/content must be a list");
    expect(
      streamRefusal(protocol.stream(), (stream) => stream.pushEvent({ type: "error", error: "x" })),
    ).toBe("event 1: it reports a provider error");
  });
});
