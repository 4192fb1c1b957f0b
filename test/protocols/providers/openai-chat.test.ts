import fc from "fast-check";
import OpenAI from "openai";
import { describe, expect, expectTypeOf, test } from "vitest";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import { defineTool } from "../../../src/engine/tool.ts";
import { openAiChatProtocol } from "../../../src/protocols/providers/openai/chat.ts";
import { converse, registry } from "../converse.ts";
import { refusal } from "../refusals.ts";
import { fetchStream } from "../sdk-fetch.ts";
import { readAll, readEvents, toServerSentEvents } from "../streams.ts";

const openai = openAiChatProtocol(registry);

const toolCall = (id: string, name: string, args: string): object => ({
  id,
  type: "function",
  function: { name, arguments: args },
});

const message = {
  role: "assistant",
  content: "Let me see.",
  tool_calls: [
    toolCall("call_1", "weather", '{ "city": "Rome" }'),
    toolCall("call_2", "weather", '{"city": '),
    toolCall("call_3", "aborted", "{}"),
    toolCall("call_4", "picture", '{"type":"image/png"}'),
  ],
};

test("reads the calls with the model's own arguments", () => {
  const calls = openai.read(message).calls;
  expect(calls).toHaveLength(4);
  expect(calls[0]).toEqual({ id: "call_1", name: "weather", arguments: '{ "city": "Rome" }' });
  expect(calls[1]).toEqual({ id: "call_2", name: "weather", arguments: '{"city": ' });
});

test("reads a whole chat completion", () => {
  const completion = { object: "chat.completion", choices: [{ index: 0, message }] };
  expect(openai.read(completion).calls).toEqual(openai.read(message).calls);
});

test("reads messages of compatible servers: no type, null for no calls", () => {
  const untyped = { role: "assistant", tool_calls: [{ id: "a", function: { name: "f", arguments: "" } }] };
  expect(openai.read(untyped).calls).toEqual([{ id: "a", name: "f", arguments: "{}" }]);
  expect(openai.read({ role: "assistant", tool_calls: null, content: "Hi" }).calls).toEqual([]);
  expect(openai.read({ role: "assistant", content: "Hi" }).calls).toEqual([]);
});

test("refuses invalid messages with pointer and reason", () => {
  const refused = (candidate: unknown): string => refusal(openai, candidate);
  const assistant = (...calls: unknown[]): unknown => ({ role: "assistant", tool_calls: calls });
  expect(refused(null)).toBe(" must be an object");
  expect(refused({ ...message, role: "user" })).toBe('/role must be "assistant"');
  expect(refused({ choices: [] })).toBe("/choices/0 must be an object");
  expect(refused({ choices: [{ message: { ...message, role: "tool" } }] })).toBe(
    '/choices/0/message/role must be "assistant"',
  );
  expect(refused(assistant(toolCall("1", "f", "{}"), { id: "2" }))).toBe(
    "/tool_calls/1/function must be an object",
  );
  expect(refused(assistant({ id: "1", function: { name: "f", arguments: 7 } }))).toBe(
    "/tool_calls/0/function/arguments must be a string",
  );
  expect(refused({ role: "assistant", function_call: { name: "f", arguments: "{}" } })).toMatch(
    /^\/function_call has no id/,
  );
});

test("writes one tool message per result, in order", async () => {
  const calls = openai.read(message).calls;
  const [assistant, ...results] = openai.toMessages(calls, await converse(calls));
  expect(assistant).toEqual({
    role: "assistant",
    tool_calls: [message.tool_calls[0], message.tool_calls[1], message.tool_calls[3]],
  });
  expect(results).toEqual([
    { role: "tool", tool_call_id: "call_1", content: '{"city":"Rome","celsius":21}' },
    { role: "tool", tool_call_id: "call_2", content: "Invalid JSON: unexpected end at position 9" },
    {
      role: "tool",
      tool_call_id: "call_4",
      content: expect.stringMatching(/^a pixel\n\[image omitted: image\/png, \d+ characters/),
    },
  ]);
});

test("writes arguments that are not text as JSON text", async () => {
  const calls = [{ id: "1", name: "weather", arguments: { city: "Rome" } }];
  const [assistant] = openai.toMessages(calls, await converse(calls));
  expect(assistant).toMatchObject({ tool_calls: [{ function: { arguments: '{"city":"Rome"}' } }] });
});

test("writes only the text, or a note, if every call was aborted", async () => {
  const calls = [{ id: "1", name: "aborted", arguments: "{}" }];
  const executions = await converse(calls);
  expect(openai.toMessages(calls, executions, { text: "So." })).toEqual([
    { role: "assistant", content: "So." },
  ]);
  expect(openai.toMessages(calls, executions)).toEqual([
    { role: "assistant", content: "The assistant's tool calls were withdrawn." },
  ]);
  expect(openai.toMessages([], [])).toEqual([]);
});

test("does not change ids, names and the text of arguments", () => {
  const id = fc.string({ unit: "binary", minLength: 1 });
  // Texts without arguments are read as an empty object.
  const argumentsText = fc.string().filter((text) => !/^\s*(?:null\s*)?$/.test(text));
  fc.assert(
    fc.property(id, fc.string(), argumentsText, (id, name, args) => {
      const sent = { role: "assistant", tool_calls: [toolCall(id, name, args)] };
      expect(openai.read(sent).calls).toEqual([{ id, name, arguments: args }]);
    }),
  );
});

describe("a stream", () => {
  const delta = (delta: object, finish_reason: string | null = null): object => ({
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    created: 1,
    model: "gpt",
    choices: [{ index: 0, delta, finish_reason }],
  });
  const piece = (index: number, args: string, more: object = {}): object => ({
    index,
    ...more,
    function: { arguments: args, ...(more as { function?: object }).function },
  });
  const begin = (id: string, name: string): object => ({ id, type: "function", function: { name } });
  const events = [
    delta({ role: "assistant", content: "Zürich " }),
    delta({ content: "first.", tool_calls: [piece(0, "", begin("call_1", "weather"))] }),
    delta({ tool_calls: [piece(0, '{"city": "Zü')] }),
    delta({ tool_calls: [piece(1, "{}", begin("call_2", "_3d-print")), piece(0, 'rich 🏔"}')] }),
    delta({}, "tool_calls"),
    { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "gpt", choices: [], usage: null },
  ];

  test("has the same calls and text for any chunks, with the names of the registry", () => {
    expect(readEvents(openai, events)).toMatchObject({
      calls: [
        { id: "call_1", name: "weather", arguments: '{"city": "Zürich 🏔"}' },
        { id: "call_2", name: "3d-print", arguments: "{}" },
      ],
      text: "Zürich first.",
    });
  });

  test("has the same result as the provider's SDK", async () => {
    const body = `${toServerSentEvents(events)}data: [DONE]\n\n`;
    const client = new OpenAI({ apiKey: "none", fetch: fetchStream(body) });
    const completion = await client.chat.completions
      .stream({ model: "gpt", messages: [] })
      .finalChatCompletion();
    expect(openai.read(completion)).toEqual(readAll(openai, [body]));
  });

  test.each<[string, object[]]>([
    [
      "without indexes",
      [
        { id: "a", function: { name: "f", arguments: "{}" } },
        { id: "b", function: { name: "g", arguments: "{}" } },
      ],
    ],
    [
      "all with the index of the first",
      [
        piece(0, "{}", { id: "a", function: { name: "f" } }),
        piece(0, "{}", { id: "b", function: { name: "g" } }),
      ],
    ],
  ])("separates the calls of a compatible server that sends them %s", (_, pieces) => {
    const { calls } = readEvents(openai, [delta({ tool_calls: pieces }), delta({}, "tool_calls")]);
    expect(calls.map(({ id, name, arguments: args }) => `${id} ${name} ${args}`)).toEqual([
      "a f {}",
      "b g {}",
    ]);
  });

  test("continues a call whose id and name are repeated or empty", () => {
    const { calls } = readEvents(openai, [
      delta({ tool_calls: [piece(0, "{", { id: "a", function: { name: "f" } })] }),
      delta({ tool_calls: [piece(0, '"b"', { id: "a", function: { name: "f" } })] }),
      delta({ tool_calls: [piece(0, ":1}", { id: "", function: { name: "" } })] }, "stop"),
    ]);
    expect(calls).toEqual([{ id: "a", name: "f", arguments: '{"b":1}' }]);
  });
});

test("keeps the text besides the calls", async () => {
  const { calls, text } = openai.read(message);
  const [assistant] = openai.toMessages(calls, await converse(calls), { text });
  expect(assistant).toMatchObject({ content: "Let me see." });
});

test("writes only the results for callers that send the provider's own message back", async () => {
  const { calls } = openai.read(message);
  const executions = await converse(calls);
  const results = openai.toMessages(calls, executions).slice(1);
  expect(openai.toResults(calls, executions, { aborted: "omit" })).toEqual(results);
  // That message still has the call that a hook aborted, so it needs a result.
  const withdrawn = { role: "tool", tool_call_id: "call_3", content: "Tool call was withdrawn" };
  expect(openai.toResults(calls, executions)).toEqual([
    ...results.slice(0, 2),
    withdrawn,
    ...results.slice(2),
  ]);
});

test("offers the tools, strict if requested, under names that the provider accepts", () => {
  const { tools, problems } = openai.toTools({ strict: true });
  expect(problems).toEqual([]);
  expect(tools).toContainEqual(
    expect.objectContaining({ function: expect.objectContaining({ name: "_3d-print" }) }),
  );
  expect(tools[0]).toEqual({
    type: "function",
    function: {
      name: "weather",
      description: "Tells the weather of a city",
      parameters: {
        type: "object",
        properties: { city: { type: "string" } },
        required: ["city"],
        additionalProperties: false,
      },
      strict: true,
    },
  });
  expect(openai.toTools().tools[0]).toMatchObject({
    function: { strict: false, parameters: registry.definitions()[0]?.inputSchema },
  });
});

test("offers a tool without a strict form unchanged, and reports why", () => {
  const inputSchema = { type: "object", patternProperties: { "^x": { type: "string" } } };
  const tool = defineTool({ name: "open", description: "Takes anything", inputSchema, host: () => null });
  const { tools, problems } = openAiChatProtocol(new ToolRegistry().register(tool)).toTools({ strict: true });
  expect(tools).toMatchObject([{ function: { strict: false, parameters: inputSchema } }]);
  expect(problems).toEqual([
    {
      tool: "open",
      path: "/patternProperties",
      effect: "not strict",
      reason: "'patternProperties' is not supported",
    },
  ]);
});

test("is compatible with the SDK's types", () => {
  expectTypeOf(openai.toTools().tools).toExtend<OpenAI.ChatCompletionTool[]>();
  expectTypeOf(openai.toMessages([], [])).toExtend<readonly OpenAI.ChatCompletionMessageParam[]>();
  expectTypeOf<OpenAI.ChatCompletion>().toExtend<Parameters<typeof openai.read>[0]>();
});
