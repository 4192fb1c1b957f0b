import Anthropic from "@anthropic-ai/sdk";
import { describe, expect, expectTypeOf, test } from "vitest";
import { ToolRegistry } from "../../../src/engine/registry.ts";
import { defineTool } from "../../../src/engine/tool.ts";
import { anthropicMessagesProtocol } from "../../../src/protocols/providers/anthropic.ts";
import { converse, PIXEL, registry } from "../converse.ts";
import { refusal } from "../refusals.ts";
import { fetchStream } from "../sdk-fetch.ts";
import { readAll, readEvents, streamRefusal, toServerSentEvents } from "../streams.ts";

const anthropic = anthropicMessagesProtocol(registry);

const toolUse = (id: string, name: string, input: object): object => ({ type: "tool_use", id, name, input });

const message = {
  role: "assistant",
  content: [
    { type: "thinking", thinking: "Rome, then." },
    { type: "text", text: "Let me see." },
    toolUse("toolu_1", "weather", { city: "Rome" }),
    { type: "server_tool_use", id: "srv_1", name: "web_search", input: {} },
    toolUse("toolu_2", "broken", {}),
    toolUse("toolu_3", "aborted", {}),
  ],
};

test("reads the calls of an assistant message, without the provider's own calls", () => {
  const calls = [
    { id: "toolu_1", name: "weather", arguments: { city: "Rome" } },
    { id: "toolu_2", name: "broken", arguments: {} },
    { id: "toolu_3", name: "aborted", arguments: {} },
  ];
  expect(anthropic.read(message).calls).toEqual(calls);
  const response = { id: "msg_1", type: "message", stop_reason: "tool_use", ...message };
  expect(anthropic.read(response).calls).toEqual(calls);
  expect(anthropic.read({ role: "assistant", content: "Hi" }).calls).toEqual([]);
});

test("refuses invalid messages with pointer and reason", () => {
  const refused = (candidate: unknown): string => refusal(anthropic, candidate);
  const assistant = (...content: unknown[]): unknown => ({ role: "assistant", content });
  expect(refused([message])).toBe(" must be an object");
  expect(refused({ ...message, role: "user" })).toBe('/role must be "assistant"');
  expect(refused({ role: "assistant" })).toBe("/content must be a list");
  expect(refused(assistant("text"))).toBe("/content/0 must be an object");
  expect(refused(assistant({ type: "tool_use", id: 7, name: "x", input: {} }))).toBe(
    "/content/0/id must be a string",
  );
  expect(refused(assistant({ type: "text" }, { type: "tool_use", id: "1", input: {} }))).toBe(
    "/content/1/name must be a string",
  );
  expect(refused(assistant({ type: "tool_use", id: "1", name: "x", input: "{}" }))).toBe(
    "/content/0/input must be an object",
  );
});

test("writes one user message with a result for each call, and marks errors", async () => {
  const calls = anthropic.read(message).calls;
  expect(anthropic.toMessages(calls, await converse(calls))).toEqual([
    { role: "assistant", content: [message.content[2], message.content[4]] },
    {
      role: "user",
      content: [
        {
          type: "tool_result",
          tool_use_id: "toolu_1",
          content: [{ type: "text", text: '{"city":"Rome","celsius":21}' }],
          is_error: false,
        },
        {
          type: "tool_result",
          tool_use_id: "toolu_2",
          content: [{ type: "text", text: "HTTP 500: connection refused" }],
          is_error: true,
        },
      ],
    },
  ]);
});

/** Returns the content of a call's result. */
async function resultContent(name: string, args: object = {}): Promise<unknown> {
  const calls = [{ id: "1", name, arguments: { ...args } }];
  const messages = anthropic.toMessages(calls, await converse(calls));
  return messages[1]?.content.map((block) => block.type === "tool_result" && block.content)[0];
}

test("writes images as base64 blocks", async () => {
  expect(await resultContent("picture", { type: "image/png" })).toEqual([
    { type: "text", text: "a pixel" },
    { type: "image", source: { type: "base64", media_type: "image/png", data: PIXEL } },
  ]);
});

test("writes placeholders for images that the provider rejects: other types, and those of a failure", async () => {
  const told = { type: "text", text: expect.stringContaining("image omitted") };
  expect(await resultContent("picture", { type: "image/bmp" })).toEqual([
    { type: "text", text: "a pixel" },
    told,
  ]);
  expect(await resultContent("failed-picture")).toEqual([{ type: "text", text: "half" }, told]);
});

test("omits empty texts, which the provider rejects", async () => {
  expect(await resultContent("silent")).toEqual([]);
});

test.each([
  ["JSON text of an object", '{"city":"Rome"}', { city: "Rome" }],
  ["broken JSON", '{"city":', { arguments: '{"city":' }],
  ["JSON text that is not an object", "[1]", { arguments: "[1]" }],
  ["a value that is not an object", [1], { arguments: [1] }],
])("writes arguments of another format as an object: %s", async (_, args, input) => {
  const calls = [{ id: "1", name: "weather", arguments: args }];
  const [assistant] = anthropic.toMessages(calls, await converse(calls));
  expect(assistant?.content).toEqual([toolUse("1", "weather", input)]);
});

test("writes only the text, or a note, if every call was aborted", async () => {
  const calls = [{ id: "1", name: "aborted", arguments: {} }];
  const executions = await converse(calls);
  const said = (text: string): object => ({ role: "assistant", content: [{ type: "text", text }] });
  expect(anthropic.toMessages(calls, executions, { text: "So." })).toEqual([said("So.")]);
  const note = said("The assistant's tool calls were withdrawn.");
  expect(anthropic.toMessages(calls, executions)).toEqual([note]);
  expect(anthropic.toMessages(calls, executions, { text: " " })).toEqual([note]);
  expect(anthropic.toMessages([], [], { text: " " })).toEqual([]);
});

describe("a stream", () => {
  const start = (index: number, content_block: object): object => ({
    type: "content_block_start",
    index,
    content_block,
  });
  const delta = (index: number, delta: object): object => ({ type: "content_block_delta", index, delta });
  const json = (index: number, partial_json: string): object =>
    delta(index, { type: "input_json_delta", partial_json });
  const stop = (index: number): object => ({ type: "content_block_stop", index });
  const begin = (content: object[]): object => ({
    type: "message_start",
    message: {
      id: "msg_1",
      type: "message",
      role: "assistant",
      content,
      model: "claude",
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: 1, output_tokens: 1 },
    },
  });
  const events = [
    begin([]),
    { type: "ping" },
    start(0, { type: "text", text: "" }),
    delta(0, { type: "text_delta", text: "Zürich " }),
    delta(0, { type: "text_delta", text: "first." }),
    stop(0),
    start(1, toolUse("toolu_1", "weather", {})),
    json(1, ""),
    json(1, '{"city": "Zü'),
    json(1, 'rich 🏔"}'),
    stop(1),
    start(2, { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: {} }),
    json(2, '{"query":"Rome"}'),
    stop(2),
    start(3, toolUse("toolu_2", "_3d-print", {})),
    stop(3),
    {
      type: "message_delta",
      delta: { stop_reason: "tool_use", stop_sequence: null },
      usage: { output_tokens: 9 },
    },
    { type: "message_stop" },
  ];
  const calls = [
    { id: "toolu_1", name: "weather", arguments: '{"city": "Zürich 🏔"}' },
    { id: "toolu_2", name: "3d-print", arguments: {} },
  ];

  test("has the same calls and text for any chunks, with the model's own arguments", () => {
    expect(readEvents(anthropic, events)).toMatchObject({ calls, text: "Zürich first." });
  });

  test("has the same result as the provider's SDK", async () => {
    const body = toServerSentEvents(events);
    const client = new Anthropic({ apiKey: "none", fetch: fetchStream(body) });
    const params = { model: "claude", max_tokens: 9, messages: [] };
    const final = await client.messages.stream(params).finalMessage();
    const { calls, ...turn } = readAll(anthropic, [body]);
    const parsed = calls.map(({ arguments: args, ...call }) => ({
      ...call,
      arguments: typeof args === "string" ? JSON.parse(args) : args,
    }));
    const [server] = turn.other;
    const other = [{ ...server, item: { ...server?.item, input: { query: "Rome" } } }];
    expect(anthropic.read(final)).toEqual({ ...turn, calls: parsed, other });
  });

  test("reads the calls at the start of a resumed message, like the SDK", async () => {
    const body = toServerSentEvents([
      begin([toolUse("toolu_1", "weather", { city: "Rome" })]),
      ...events.slice(-2),
    ]);
    const client = new Anthropic({ apiKey: "none", fetch: fetchStream(body) });
    const final = await client.messages
      .stream({ model: "claude", max_tokens: 9, messages: [] })
      .finalMessage();
    const read = readAll(anthropic, [body]);
    expect(read.calls).toEqual([{ id: "toolu_1", name: "weather", arguments: { city: "Rome" } }]);
    expect(anthropic.read(final)).toEqual(read);
  });

  test("is refused if it ends inside a call, or starts a call inside another one", () => {
    const stream = anthropic.stream();
    expect(
      streamRefusal(stream, () => [stream.push(toServerSentEvents(events.slice(0, 9))), stream.end()]),
    ).toBe("the message ends inside a call, without its 'message_stop'");
    const other = anthropic.stream();
    expect(streamRefusal(other, () => [events[6], events[6]].map((event) => other.pushEvent(event)))).toBe(
      "event 2: it starts a call before the previous one has ended",
    );
  });

  test("is refused if the provider reports an error", () => {
    const event = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };
    expect(streamRefusal(anthropic.stream(), (stream) => stream.pushEvent(event))).toBe(
      "event 1: /error reports a provider error",
    );
  });
});

test("keeps the text besides the calls, unless it is only white space", async () => {
  const { calls, text } = anthropic.read(message);
  const executions = await converse(calls);
  const [assistant] = anthropic.toMessages(calls, executions, { text });
  expect(assistant?.content[0]).toEqual({ type: "text", text: "Let me see." });
  const [silent] = anthropic.toMessages(calls, executions, { text: " \n" });
  expect(silent?.content[0]).toMatchObject({ type: "tool_use" });
});

test("offers the tools, strict if requested, under names that the provider accepts", () => {
  const { tools, problems } = anthropic.toTools({ strict: true });
  expect(problems).toEqual([]);
  expect(tools[0]).toEqual({
    name: "weather",
    description: "Tells the weather of a city",
    input_schema: {
      type: "object",
      properties: { city: { type: "string" } },
      required: ["city"],
      additionalProperties: false,
    },
    strict: true,
  });
  expect(tools.map(({ name }) => name)).toContain("_3d-print");
  expect(anthropic.toTools().tools[0]).not.toHaveProperty("strict");
});

test("offers no more strict tools than the provider accepts in one request, and reports the others", () => {
  const many = new ToolRegistry();
  for (let at = 0; at < 22; at++) {
    many.register(
      defineTool({
        name: `tool_${at}`,
        description: "A tool",
        inputSchema: { type: "object" },
        host: () => null,
      }),
    );
  }
  const { tools, problems } = anthropicMessagesProtocol(many).toTools({ strict: true });
  expect(tools.filter(({ strict }) => strict)).toHaveLength(20);
  expect(problems).toEqual([
    {
      tool: "tool_20",
      path: "",
      reason: "the request would have more than 20 strict tools",
      effect: "not strict",
    },
    {
      tool: "tool_21",
      path: "",
      reason: "the request would have more than 20 strict tools",
      effect: "not strict",
    },
  ]);
});

test("is compatible with the SDK's types", () => {
  expectTypeOf(anthropic.toTools().tools).toExtend<Anthropic.Tool[]>();
  expectTypeOf(anthropic.toMessages([], [])).toExtend<readonly Anthropic.MessageParam[]>();
});
