import { describe, expect, test } from "vitest";
import { PROTOCOLS } from "../../src/protocols/by-format.ts";
import { detectMessageFormats, detectStreamFormats, type Format } from "../../src/protocols/formats.ts";
import { converse, registry } from "./converse.ts";
import { readAll, readEvents, streamRefusal } from "./streams.ts";

const weather = { name: "weather", arguments: '{"city":"Rome"}' };
const input = { city: "Rome" };
const openai = PROTOCOLS.openai(registry);
const google = PROTOCOLS.google(registry);
const cohere = PROTOCOLS.cohere(registry);
const bedrock = PROTOCOLS.bedrock(registry);
const responses = PROTOCOLS["openai-responses"](registry);

const assistant = (...tool_calls: unknown[]): object => ({ role: "assistant", tool_calls });
const delta = (value: object, finish_reason: string | null = null): object => ({
  choices: [{ index: 0, delta: value, finish_reason }],
});
const piece = (called: object, more: object = {}): object => ({
  tool_calls: [{ ...more, function: called }],
});

describe("arguments", () => {
  test.each([
    ["an object", input, input],
    ["null", null, {}],
    ["missing", undefined, {}],
    ["empty", "", "{}"],
    ["the text null", "null", "{}"],
  ])("of a chat completion may be %s", (_, given, expected) => {
    const call = { id: "1", type: "function", function: { name: "weather", arguments: given } };
    expect(openai.read(assistant(call)).calls).toEqual([{ id: "1", name: "weather", arguments: expected }]);
  });

  test("of a streamed chat completion may be an object, or never come", () => {
    const events = [
      delta(piece({ name: "weather", arguments: input }, { index: 0, id: "1" })),
      delta(piece({ name: "broken", arguments: null }, { index: 1, id: "2" })),
      delta({}, "tool_calls"),
    ];
    expect(readEvents(openai, events).calls).toMatchObject([{ arguments: input }, { arguments: {} }]);
  });

  test("of Google, Bedrock, Anthropic and Responses may be null or missing", () => {
    const part = (args?: null): object => ({ functionCall: { id: null, name: "weather", args } });
    const toolUse = { toolUseId: "1", name: "weather", input: null };
    const block = { type: "tool_use", id: "1", name: "weather" };
    const item = { type: "function_call", call_id: "1", name: "weather", arguments: null };
    const calls = [
      google.read({ parts: [part(null), part()] }),
      bedrock.read({ role: "assistant", content: [{ toolUse }] }),
      PROTOCOLS.anthropic(registry).read({ role: "assistant", content: [block] }),
      responses.read([item]),
    ].flatMap((turn) => turn.calls);
    expect(calls).toHaveLength(5);
    for (const { arguments: args } of calls) expect(args).toEqual({});
  });
});

describe("ids", () => {
  test.each([
    undefined,
    null,
    "",
  ])("that are %j are generated, and sent back with call and result", async (id) => {
    const { calls } = openai.read(assistant({ id, function: weather }, { id, function: weather }));
    const [first, second] = calls.map((call) => call.id);
    expect(first).toMatch(/^sandgate-/);
    expect(first).not.toBe(second);
    expect(openai.toMessages(calls, await converse(calls))).toMatchObject([
      { tool_calls: [{ id: first }, { id: second }] },
      { tool_call_id: first },
      { tool_call_id: second },
    ]);
  });

  test("and indexes may be missing in a stream", () => {
    const called = (name: string, args: string): object => delta(piece({ name, arguments: args }));
    const stream = openai.stream();
    const events = [called("weather", "{"), delta(piece({ arguments: "}" })), called("broken", "{}")];
    const calls = [...events, delta({}, "stop")].flatMap((event) => stream.pushEvent(event));
    expect(calls.map(({ name, arguments: args }) => `${name} ${args}`)).toEqual(["weather {}", "broken {}"]);
  });
});

describe("the name of a streamed call", () => {
  test.each([
    ["in pieces", ["wea", "ther", ""]],
    ["in a later piece", [undefined, "weather", undefined]],
    ["in every piece", ["weather", "weather", "weather"]],
    ["in pieces that grow", ["wea", "weat", "weather"]],
  ])("may come %s", (_, names) => {
    const events = names.map((name, at) => {
      return delta(piece({ name, arguments: at === 2 ? "{}" : "" }, { index: 0, id: at === 0 ? "1" : null }));
    });
    expect(readEvents(openai, [...events, delta({}, "stop")]).calls).toEqual([
      { id: "1", name: "weather", arguments: "{}" },
    ]);
  });
});

test.each([
  { name: "", arguments: "" },
  { name: null, arguments: null },
  { name: "weather", arguments: "{}" },
])("a legacy function_call beside tool_calls is ignored: %j", (function_call) => {
  const call = { id: "1", type: "function", function: weather };
  expect(openai.read({ ...assistant(call), function_call }).calls).toHaveLength(1);
  const events = [
    delta({ tool_calls: [{ index: 0, ...call }], function_call }),
    delta({ function_call: { name: "", arguments: "" } }, "stop"),
  ];
  expect(readEvents(openai, events).calls).toHaveLength(1);
});

describe("Ollama's own API", () => {
  const message = {
    role: "assistant",
    content: "So.",
    tool_calls: [{ function: { name: "weather", arguments: input } }],
  };

  test("has whole messages without ids, whose format is detected", () => {
    const response = { model: "llama", message, done: true, done_reason: "stop" };
    expect(detectMessageFormats(response)).toEqual(["openai"]);
    expect(openai.read(response)).toMatchObject({
      text: "So.",
      calls: [{ name: "weather", arguments: input }],
      stopReason: "stop",
      cutOff: false,
    });
    expect(openai.read({ ...response, done_reason: "length" })).toMatchObject({
      calls: [{ cutOff: true }],
      cutOff: true,
    });
  });

  test("has streams of JSON lines", () => {
    const events = [
      { message, done: false },
      { message: { role: "assistant", content: " Done." }, done: true, done_reason: "stop" },
    ];
    expect(detectStreamFormats(events)).toEqual(["openai"]);
    const stream = openai.stream();
    const calls = [...stream.push(events.map((event) => JSON.stringify(event)).join("\n")), ...stream.end()];
    expect(calls).toMatchObject([{ name: "weather", arguments: input }]);
    expect(stream.text).toBe("So. Done.");
    expect(streamRefusal(openai.stream(), (other) => [other.pushEvent(events[0]), other.end()])).toBe(
      "the message ends without its 'finish_reason'",
    );
  });
});

describe("Google", () => {
  const chunk = (...parts: object[]): object => ({ candidates: [{ content: { parts } }] });

  test("may omit the role, and answer with a list of chunks", () => {
    const body = [
      chunk({ text: "So." }, { functionCall: { name: "weather", args: input } }),
      { candidates: [{ content: { role: "model", parts: [] }, finishReason: "STOP" }] },
    ];
    expect(detectMessageFormats(body)).toEqual(["google"]);
    // The body of the REST API without `alt=sse`, as the server indents it.
    const streamed = readAll(google, [JSON.stringify(body, undefined, 2).replace("},\n", "}\n,\r\n")]);
    expect(streamed).toMatchObject({ text: "So.", calls: [{ arguments: input }], stopReason: "STOP" });
    expect(google.read(body)).toMatchObject({
      text: "So.",
      calls: [{ arguments: input }],
      stopReason: "STOP",
    });
  });

  test("gets the thought signature of a call back", async () => {
    const part = { functionCall: { name: "weather", args: input }, thoughtSignature: "c2lnbmVk" };
    const { calls } = google.read(chunk(part, { functionCall: { name: "broken", args: {} } }));
    const stored = JSON.parse(JSON.stringify(calls));
    const [turn] = google.toMessages(stored, await converse(stored));
    expect(turn).toEqual({ role: "model", parts: [part, { functionCall: { name: "broken", args: {} } }] });
    expect(google.stream().pushEvent(chunk(part))).toMatchObject([
      { providerData: { thoughtSignature: "c2lnbmVk" } },
    ]);
  });
});

test("Cohere's SDK has other names for members, in messages and in events", () => {
  const called = { id: "1", type: "function", function: weather };
  const message = { role: "assistant", toolPlan: "So.", toolCalls: [called] };
  expect(cohere.read({ message, finishReason: "TOOL_CALL" })).toMatchObject({
    text: "So.",
    stopReason: "TOOL_CALL",
    calls: [{ id: "1", ...weather }],
  });
  const events = [
    { type: "tool-plan-delta", delta: { message: { toolPlan: "So." } } },
    { type: "tool-call-start", index: 0, delta: { message: { toolCalls: called } } },
    { type: "tool-call-end", index: 0 },
    { type: "message-end", delta: { finishReason: "TOOL_CALL" } },
  ];
  expect(readEvents(cohere, events)).toMatchObject({ text: "So.", calls: [{ id: "1", ...weather }] });
});

describe("calls that are not the registry's are told apart, and do not spoil the others, in", () => {
  const custom = { id: "2", type: "custom", custom: { name: "grammar", input: "x" } };

  test.each<[Format, unknown, object]>([
    [
      "openai",
      assistant({ id: "1", function: weather }, custom),
      { type: "custom", id: "2", name: "grammar" },
    ],
    [
      "openai-responses",
      [
        { type: "function_call", call_id: "1", ...weather },
        { type: "mcp_approval_request", id: "2", name: "roll", arguments: "{}" },
      ],
      { type: "mcp_approval_request", id: "2", name: "roll" },
    ],
    [
      "openai-responses",
      [
        { type: "function_call", call_id: "1", ...weather },
        { type: "custom_tool_call", id: "ctc", call_id: "2", name: "sql", input: "SELECT 1" },
      ],
      { type: "custom_tool_call", id: "2", name: "sql" },
    ],
    [
      "anthropic",
      {
        role: "assistant",
        content: [
          { type: "mcp_tool_use", id: "2", name: "roll", input: {} },
          { type: "tool_use", id: "1", name: "weather", input },
        ],
      },
      { type: "mcp_tool_use", id: "2", name: "roll" },
    ],
    [
      "bedrock",
      {
        role: "assistant",
        content: [
          { toolUse: { type: "server_tool_use", toolUseId: "2", name: "nova_grounding", input: {} } },
          { toolUse: { toolUseId: "1", name: "weather", input } },
        ],
      },
      { type: "server_tool_use", id: "2", name: "nova_grounding" },
    ],
    [
      "google",
      {
        role: "model",
        parts: [
          { executableCode: { language: "PYTHON", code: "1" } },
          { functionCall: { id: "1", name: "weather", args: input } },
        ],
      },
      { type: "executableCode", id: undefined, name: undefined },
    ],
    [
      "ai-sdk",
      [
        { type: "tool-call", toolCallId: "2", toolName: "search", input: {}, providerExecuted: true },
        { type: "tool-call", toolCallId: "1", toolName: "weather", input },
      ],
      { type: "tool-call", id: "2", name: "search" },
    ],
  ])("%s", (format, message, expected) => {
    const { calls, other } = PROTOCOLS[format](registry).read(message);
    expect(calls.map(({ id, name }) => `${id} ${name}`)).toEqual(["1 weather"]);
    expect(other).toEqual([{ ...expected, item: expect.any(Object) }]);
  });

  test("a stream", () => {
    const events = [
      delta({ tool_calls: [{ index: 0, id: "2", type: "custom", custom: { name: "grammar", input: "" } }] }),
      delta({ tool_calls: [{ index: 0, custom: { input: "x" } }] }),
      delta({ tool_calls: [{ index: 1, id: "1", type: "function", function: weather }] }),
      delta({}, "tool_calls"),
    ];
    const { calls, other } = readEvents(openai, events);
    expect(calls).toEqual([{ id: "1", ...weather }]);
    expect(other).toMatchObject([{ type: "custom", id: "2", name: "grammar" }]);
    const at = { contentBlockIndex: 0 };
    const toolUse = { type: "server_tool_use", toolUseId: "2", name: "nova_grounding" };
    const converse = [
      { contentBlockStart: { ...at, start: { toolUse } } },
      { contentBlockDelta: { ...at, delta: { toolUse: { input: "{}" } } } },
      { contentBlockStop: at },
      { messageStop: { stopReason: "end_turn" } },
    ];
    expect(readEvents(bedrock, converse)).toMatchObject({ calls: [], other: [{ id: "2" }] });
  });
});
