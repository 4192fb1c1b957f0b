import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { PROTOCOLS } from "../../src/protocols/by-format.ts";
import type { Format } from "../../src/protocols/formats.ts";
import { ProtocolError } from "../../src/protocols/parsing/shape.ts";
import { registry } from "./converse.ts";
import { toServerSentEvents } from "./streams.ts";

/** What a message states of its only call, at one of the two places where it can state it. */
interface Stated {
  readonly id: string;
  readonly name: string;
  readonly args: string;
}

/** How a format states a call twice. An empty string stands for nothing. */
type Twice = (first: Stated, second: Stated) => readonly object[];

const parse = (args: string): object => (args === "" ? {} : JSON.parse(args));
const chunk = (delta: object, finish_reason: string | null = null): object => ({
  choices: [{ index: 0, delta, finish_reason }],
});
const chatCall = ({ id, name, args }: Stated): object => ({
  index: 0,
  id: id === "" ? undefined : id,
  type: "function",
  function: { name, arguments: args },
});
const item = ({ id, name, args }: Stated): object => ({
  type: "function_call",
  id: "item",
  call_id: id,
  name,
  arguments: args,
});
const itemEvent = (kind: string, stated: Stated): object => ({
  type: `response.output_item.${kind}`,
  output_index: 0,
  item: item(stated),
});
const argumentsEvent = (kind: string, more: object): object => ({
  type: `response.function_call_arguments.${kind}`,
  output_index: 0,
  item_id: "item",
  ...more,
});
const completed = (output: readonly object[] = []): object => ({
  type: "response.completed",
  response: { status: "completed", output },
});
const cohere = (type: string, { id, name, args }: Stated): object => ({
  type,
  index: 0,
  delta: { message: { tool_calls: { id, function: { name, arguments: args } } } },
});
const google = (functionCall: object): object => ({
  candidates: [{ content: { parts: [{ functionCall }] } }],
});
const anthropicBlock = (first: Stated, args: string): readonly object[] => [
  { type: "message_start", message: { role: "assistant", content: [] } },
  {
    type: "content_block_start",
    index: 0,
    content_block: { type: "tool_use", id: "a", name: "weather", input: parse(first.args) },
  },
  { type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: args } },
  { type: "content_block_stop", index: 0 },
];
const anthropicEnd = [
  { type: "message_delta", delta: { stop_reason: "tool_use" } },
  { type: "message_stop" },
];

/** Each place where a format can state arguments twice. */
const ARGUMENTS: Readonly<Record<string, readonly [Format, Twice]>> = {
  "a piece and the whole message of a chunk": [
    "openai",
    (a, b) => [
      chunk({ tool_calls: [chatCall(a)] }),
      { choices: [{ index: 0, message: { tool_calls: [chatCall(b)] }, finish_reason: "tool_calls" }] },
    ],
  ],
  "an object and pieces of text": [
    "openai",
    (a, b) => [
      chunk({ tool_calls: [{ index: 0, id: "a", function: { name: "weather", arguments: parse(a.args) } }] }),
      chunk({ tool_calls: [{ index: 0, function: { arguments: b.args } }] }),
      chunk({}, "tool_calls"),
    ],
  ],
  "deltas and the end of the arguments": [
    "openai-responses",
    (a, b) => [
      itemEvent("added", { ...a, args: "" }),
      argumentsEvent("delta", { delta: a.args }),
      argumentsEvent("done", { arguments: b.args }),
      itemEvent("done", { ...a, args: "" }),
      completed(),
    ],
  ],
  "deltas and the finished item": [
    "openai-responses",
    (a, b) => [
      itemEvent("added", { ...a, args: "" }),
      argumentsEvent("delta", { delta: a.args }),
      itemEvent("done", b),
      completed(),
    ],
  ],
  "the finished item and the whole response": [
    "openai-responses",
    (a, b) => [itemEvent("added", { ...a, args: "" }), itemEvent("done", a), completed([item(b)])],
  ],
  "the start of a block and its deltas": [
    "anthropic",
    (a, b) => [...anthropicBlock(a, b.args), ...anthropicEnd],
  ],
  "a block and a delta after its end": [
    "anthropic",
    (a, b) => [
      ...anthropicBlock({ ...a, args: "" }, a.args),
      { type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: b.args } },
      ...anthropicEnd,
    ],
  ],
  "the start of a block of Converse and its deltas": [
    "bedrock",
    (a, b) => [
      {
        contentBlockStart: {
          contentBlockIndex: 0,
          start: { toolUse: { toolUseId: "a", name: "weather", input: parse(a.args) } },
        },
      },
      { contentBlockDelta: { contentBlockIndex: 0, delta: { toolUse: { input: b.args } } } },
      { contentBlockStop: { contentBlockIndex: 0 } },
      { messageStop: { stopReason: "tool_use" } },
    ],
  ],
  "the input's deltas and the call of the AI SDK": [
    "ai-sdk",
    (a, b) => [
      { type: "tool-input-start", id: "a", toolName: "weather" },
      { type: "tool-input-delta", id: "a", delta: a.args },
      { type: "tool-call", toolCallId: "a", toolName: "weather", input: b.args },
      { type: "finish", finishReason: "tool-calls" },
    ],
  ],
  "a call of the AI SDK and the same call again": [
    "ai-sdk",
    (a, b) => [
      { type: "tool-call", toolCallId: "a", toolName: "weather", input: a.args },
      { type: "tool-call", toolCallId: "a", toolName: "weather", input: b.args },
      { type: "finish", finishReason: "tool-calls" },
    ],
  ],
  "arguments and partial arguments": [
    "google",
    (a, b) => [
      google({ name: "weather", args: parse(a.args), willContinue: true }),
      google({
        partialArgs: Object.entries(parse(b.args)).map(([name, stringValue]) => ({
          jsonPath: `$.${name}`,
          stringValue,
        })),
      }),
      { candidates: [{ finishReason: "STOP" }] },
    ],
  ],
  "the start and the deltas of Cohere": [
    "cohere",
    (a, b) => [
      cohere("tool-call-start", a),
      { type: "tool-call-end", index: 0 },
      cohere("tool-call-delta", { ...b, id: "", name: "" }),
      { type: "message-end", delta: { finish_reason: "TOOL_CALL" } },
    ],
  ],
};

/** Each place where a format can state an id or a name twice. */
const NAMES: Readonly<Record<string, readonly [Format, Twice]>> = {
  "pieces of a chat completion": [
    "openai",
    (a, b) => [
      chunk({ tool_calls: [chatCall({ ...a, args: '{"city":' })] }),
      chunk({ tool_calls: [chatCall({ ...b, args: '"Rome"}' })] }),
      chunk({}, "tool_calls"),
    ],
  ],
  "the start and the end of an item": [
    "openai-responses",
    (a, b) => [itemEvent("added", { ...a, args: "" }), itemEvent("done", b), completed()],
  ],
  "an item and the whole response": [
    "openai-responses",
    (a, b) => [itemEvent("done", a), completed([item(b)])],
  ],
  "the start and a delta of Cohere": [
    "cohere",
    (a, b) => [
      cohere("tool-call-start", { ...a, args: "" }),
      cohere("tool-call-delta", b),
      { type: "tool-call-end", index: 0 },
      { type: "message-end", delta: { finish_reason: "TOOL_CALL" } },
    ],
  ],
};

/** Reads a stream. Returns the calls as far as it was read, and whether it failed. */
function read(format: Format, events: readonly object[]): { calls: object[]; isRefused: boolean } {
  const stream = PROTOCOLS[format](registry).stream();
  const calls: object[] = [];
  try {
    for (const event of events) calls.push(...stream.push(toServerSentEvents([event])));
    calls.push(...stream.end());
    return { calls, isRefused: false };
  } catch (error) {
    expect(error).toBeInstanceOf(ProtocolError);
    return { calls, isRefused: true };
  }
}

const argumentsOf = (call: object): unknown => {
  const { arguments: args } = call as { arguments: unknown };
  return typeof args === "string" ? JSON.parse(args) : args;
};
const rome: Stated = { id: "a", name: "weather", args: '{"city":"Rome"}' };
const empty = { ...rome, args: "" };

describe.each(Object.entries(ARGUMENTS))("arguments in %s", (_, [format, twice]) => {
  test("are those of the one that has content", () => {
    for (const events of [twice(rome, empty), twice(empty, rome)]) {
      const { calls, isRefused } = read(format, events);
      expect(isRefused).toBe(false);
      expect(calls.map(argumentsOf)).toEqual([{ city: "Rome" }]);
    }
  });

  test("make the stream fail if both have content and differ", () => {
    const { calls, isRefused } = read(format, twice(rome, { ...rome, args: '{"city":"Oslo"}' }));
    expect(isRefused).toBe(true);
    // What was complete before the second one came cannot be taken back.
    for (const call of calls) expect(argumentsOf(call)).toEqual({ city: "Rome" });
  });

  test("are never mixed, whatever they are", () => {
    const value = fc.constantFrom("", "{}", '{"city":"Rome"}', '{"city":"Oslo"}', '{"town":"Rome"}');
    fc.assert(
      fc.property(value, value, (first, second) => {
        const events = twice({ ...rome, args: first }, { ...rome, args: second });
        for (const call of read(format, events).calls) {
          const stated = [first, second].map((args) => JSON.stringify(parse(args)));
          expect(stated).toContain(JSON.stringify(argumentsOf(call)));
        }
      }),
    );
  });
});

describe.each(Object.entries(NAMES))("ids and names in %s", (_, [format, twice]) => {
  test.each([
    "id",
    "name",
  ] as const)("%s: the one that is not empty is taken, a different one is refused", (member) => {
    const without = { ...rome, [member]: "" };
    for (const events of [twice(rome, without), twice(without, rome)]) {
      const { calls, isRefused } = read(format, events);
      expect(isRefused).toBe(false);
      expect(calls).toMatchObject([{ id: "a", name: "weather" }]);
    }
    const { calls, isRefused } = read(format, twice(rome, { ...rome, [member]: "other" }));
    expect(isRefused || calls.length === 2, member).toBe(true);
    for (const call of calls) expect(call).toMatchObject({ name: "weather" });
  });
});

describe("a stream fails", () => {
  const start = chunk({ tool_calls: [chatCall({ ...rome, args: '{"city":' })] });
  test.each<[string, Format, readonly object[]]>([
    [
      "if a piece has the id of a call with another index",
      "openai",
      [start, chunk({ tool_calls: [{ index: 1, id: "a", function: { arguments: '"Rome"}' } }] })],
    ],
    [
      "if a piece without a name has another id",
      "openai",
      [start, chunk({ tool_calls: [{ index: 0, id: "b", function: { arguments: '"Rome"}' } }] })],
    ],
    ["if it states two reasons why it stopped", "openai", [chunk({}, "stop"), chunk({}, "length")]],
    ["if its calls are another role's", "openai", [chunk({ role: "user", tool_calls: [chatCall(rome)] })]],
    [
      "if a piece is both a function's and a custom tool's",
      "openai",
      [chunk({ tool_calls: [{ ...chatCall(rome), custom: { name: "sql", input: "x" } }] })],
    ],
    [
      "if a legacy call is another one",
      "openai",
      [chunk({ tool_calls: [chatCall(rome)], function_call: { name: "drop", arguments: '{"a":1}' } })],
    ],
    ["if it says that it has calls, and has none", "openai", [chunk({}, "tool_calls")]],
    [
      "if arguments continue a block that is no call",
      "anthropic",
      [
        { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
        { type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: "{}" } },
      ],
    ],
    [
      "if arguments continue a block that was never started",
      "anthropic",
      [
        ...anthropicBlock(empty, ""),
        { type: "content_block_delta", index: 7, delta: { type: "input_json_delta", partial_json: "{}" } },
      ],
    ],
    [
      "if a block starts after the end of the message",
      "anthropic",
      [...anthropicBlock(empty, rome.args), ...anthropicEnd, ...anthropicBlock(empty, rome.args).slice(1)],
    ],
    [
      "if its start has another role",
      "anthropic",
      [{ type: "message_start", message: { role: "user", content: [] } }],
    ],
    ["if its start has another role", "bedrock", [{ messageStart: { role: "user" } }]],
    [
      "if an event is two events",
      "bedrock",
      [{ contentBlockStop: { contentBlockIndex: 0 }, messageStop: { stopReason: "end_turn" } }],
    ],
    [
      "if arguments continue a block that was never started",
      "bedrock",
      [{ contentBlockDelta: { contentBlockIndex: 3, delta: { toolUse: { input: "{}" } } } }],
    ],
    [
      "if a delta names the item of another position",
      "openai-responses",
      [
        itemEvent("added", { ...rome, args: "" }),
        { ...argumentsEvent("delta", { delta: "{}" }), output_index: 1 },
      ],
    ],
    [
      "if the response has another status than its last event",
      "openai-responses",
      [{ type: "response.completed", response: { status: "incomplete", output: [] } }],
    ],
    [
      "if an item is another kind of item at its end",
      "openai-responses",
      [
        itemEvent("added", { ...rome, args: "" }),
        { type: "response.output_item.done", output_index: 0, item: { type: "web_search_call", id: "item" } },
      ],
    ],
    [
      "if a complete response has an incomplete call",
      "openai-responses",
      [itemEvent("done", rome), completed([{ ...item(rome), status: "incomplete" }])],
    ],
    [
      "if a value is stated by two pieces",
      "google",
      [
        google({ name: "weather", willContinue: true }),
        google({ partialArgs: [{ jsonPath: "$.n", numberValue: 1 }], willContinue: true }),
        google({ partialArgs: [{ jsonPath: "$.n", numberValue: 2 }], willContinue: true }),
      ],
    ],
    [
      "if a piece has two values",
      "google",
      [google({ name: "weather", partialArgs: [{ jsonPath: "$.n", numberValue: 1, stringValue: "2" }] })],
    ],
    [
      "if a blocked prompt was answered",
      "google",
      [{ promptFeedback: { blockReason: "SAFETY" }, candidates: [{ finishReason: "STOP" }] }],
    ],
    [
      "if a call that the provider runs was started as ours",
      "ai-sdk",
      [
        { type: "tool-input-start", id: "a", toolName: "weather" },
        { type: "tool-call", toolCallId: "a", toolName: "weather", input: "{}", providerExecuted: true },
      ],
    ],
    [
      "if two names of a member differ",
      "cohere",
      [{ type: "message-end", delta: { finish_reason: "COMPLETE", finishReason: "MAX_TOKENS" } }],
    ],
  ])("%s (%s)", (_, format, events) => {
    expect(read(format, events)).toMatchObject({ isRefused: true });
  });
});

test("a call that stands only in the whole response is read", () => {
  const { calls } = read("openai-responses", [{ type: "response.created" }, completed([item(rome)])]);
  expect(calls).toEqual([{ id: "a", name: "weather", arguments: rome.args }]);
});

test("the first candidate is that with the index 0, wherever it stands", () => {
  const other = { index: 1, content: { parts: [{ functionCall: { name: "drop", args: {} } }] } };
  const { calls } = read("google", [
    { candidates: [other, { index: 0, content: { parts: [{ functionCall: { name: "weather" } }] } }] },
    { candidates: [other] },
    { candidates: [{ finishReason: "STOP" }] },
  ]);
  expect(calls).toMatchObject([{ name: "weather" }]);
  const message = (name: string): object => ({
    role: "assistant",
    tool_calls: [{ id: name, function: { name, arguments: "{}" } }],
  });
  const choices = [
    { index: 1, message: message("drop") },
    { index: 0, message: message("weather") },
  ];
  expect(PROTOCOLS.openai(registry).read({ choices }).calls).toMatchObject([{ name: "weather" }]);
});

describe("two calls with one id", () => {
  const use = { type: "tool_use", id: "same", name: "weather", input: { city: "Rome" } };
  const twiceText = 'Invalid tool call: several calls of the message have the id "same"';

  test("are both marked in a message", () => {
    const message = { role: "assistant", stop_reason: "tool_use", content: [use, use] };
    const { calls } = PROTOCOLS.anthropic(registry).read(message);
    expect(calls).toMatchObject([{ problem: twiceText }, { problem: twiceText }]);
  });

  test("run once in a stream, where the first one is given before the second one comes", () => {
    const blocks = [0, 1].flatMap((index) => [
      { type: "content_block_start", index, content_block: { ...use, input: {} } },
      { type: "content_block_delta", index, delta: { type: "input_json_delta", partial_json: rome.args } },
      { type: "content_block_stop", index },
    ]);
    const { calls } = read("anthropic", [...blocks, ...anthropicEnd]);
    expect(calls.map((call) => "problem" in call)).toEqual([false, true]);
  });
});
