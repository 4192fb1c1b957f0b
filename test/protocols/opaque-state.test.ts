import { describe, expect, test } from "vitest";
import { PROTOCOLS } from "../../src/protocols/by-format.ts";
import type { Format } from "../../src/protocols/formats.ts";
import { converse, registry } from "./converse.ts";
import { toServerSentEvents } from "./streams.ts";

const input = { city: "Rome" };
const args = JSON.stringify(input);
const reasoning = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "b3BhcXVl" };
const compaction = { type: "compaction", id: "cmp_1", encrypted_content: "c21hbGw=" };
const item = (id: string): object => ({
  type: "function_call",
  call_id: id,
  name: "weather",
  arguments: args,
});
const chatCall = (id: string, more: object = {}): object => ({
  id,
  type: "function",
  function: { name: "weather", arguments: args },
  ...more,
});
const use = (id: string): object => ({ type: "tool_use", id, name: "weather", input });
const thinking = (signature: string): object => ({ type: "thinking", thinking: signature, signature });
const chunk = (delta: object, finish_reason: string | null = null): object => ({
  choices: [{ index: 0, delta, finish_reason }],
});

/** Returns the assistant's messages of the next request. `aborted` are the positions of calls that a hook aborted. */
async function sentBack(
  format: Format,
  message: object | readonly object[],
  { aborted = [], streamed = false }: { aborted?: readonly number[]; streamed?: boolean } = {},
): Promise<readonly unknown[]> {
  const protocol = PROTOCOLS[format](registry);
  const stream = protocol.stream();
  const calls = streamed
    ? [...stream.push(toServerSentEvents(message as object[])), ...stream.end()]
    : protocol.read(message).calls;
  const turn = streamed ? stream : protocol.read(message);
  const executions = (await converse(calls)).map((execution, index) =>
    aborted.includes(index) ? null : execution,
  );
  // A caller may store the turn.
  const stored = JSON.parse(JSON.stringify({ text: turn.text, providerData: turn.providerData }));
  const messages = protocol.toMessages(calls, executions, stored);
  expect(messages).toEqual(protocol.toMessages(calls, executions, turn));
  const results = executions.filter((execution) => execution !== null).length;
  return format === "openai-responses" || format === "openai"
    ? messages.slice(0, messages.length - results)
    : messages.slice(0, results === 0 ? 1 : -1);
}

describe("Responses", () => {
  const said = { type: "message", role: "assistant", content: [{ type: "output_text", text: "So." }] };
  const text = { role: "assistant", content: "So." };

  test("gets encrypted reasoning back in its place", async () => {
    const output = [compaction, reasoning, said, reasoning, item("a"), item("b")];
    const sent = [compaction, reasoning, text, reasoning, item("a"), item("b")];
    expect(await sentBack("openai-responses", { status: "completed", output })).toEqual(sent);
    const events = [
      ...output.flatMap((item, output_index) => [
        { type: "response.output_item.added", output_index, item: { ...item, arguments: "" } },
        ...(item === said ? [{ type: "response.output_text.delta", delta: "So." }] : []),
        { type: "response.output_item.done", output_index, item },
      ]),
      { type: "response.completed", response: { status: "completed", output } },
    ];
    expect(await sentBack("openai-responses", events, { streamed: true })).toEqual(sent);
  });

  test("gets no reasoning that it would look for, or that led to nothing", async () => {
    const { encrypted_content: _, ...stored } = reasoning;
    expect(await sentBack("openai-responses", [stored, item("a")])).toEqual([item("a")]);
    const output = [reasoning, item("a"), reasoning, item("b")];
    expect(await sentBack("openai-responses", output, { aborted: [1] })).toEqual([reasoning, item("a")]);
  });
});

describe("chat completions", () => {
  test.each([
    { reasoning_content: "Because." },
    // DeepSeek wants it back even if it is empty.
    { reasoning_content: "" },
    {
      reasoning: "Because.",
      reasoning_details: [{ type: "reasoning.encrypted", data: "b3BhcXVl", index: 0 }],
    },
    { reasoning_opaque: "b3BhcXVl", reasoning_text: "Because." },
    { thinking_blocks: [{ type: "thinking", thinking: "Because.", signature: "c2ln" }] },
    { extra_content: { google: { thought_signature: "c2ln" } } },
  ])("get %j back", async (members) => {
    const tool_calls = [chatCall("a")];
    const message = { role: "assistant", ...members, tool_calls };
    const expected = [{ role: "assistant", ...members, tool_calls }];
    expect(await sentBack("openai", message)).toEqual(expected);
    const events = [chunk({ role: "assistant", ...members }), chunk({ tool_calls }), chunk({}, "tool_calls")];
    expect(await sentBack("openai", events, { streamed: true })).toEqual(expected);
  });

  test("get reasoning back that came in pieces", async () => {
    const detail = (text: string, more: object = {}): object => ({
      type: "reasoning.text",
      index: 0,
      text,
      ...more,
    });
    const events = [
      chunk({ reasoning_content: "Be", reasoning_details: [detail("Be")] }),
      chunk({ reasoning_content: "cause.", reasoning_details: [detail("cause.", { signature: "c2ln" })] }),
      chunk({ tool_calls: [chatCall("a", { index: 0 })] }, "tool_calls"),
    ];
    expect(await sentBack("openai", events, { streamed: true })).toEqual([
      {
        role: "assistant",
        reasoning_content: "Because.",
        reasoning_details: [detail("Because.", { signature: "c2ln" })],
        tool_calls: [chatCall("a")],
      },
    ]);
  });

  test("get Gemini's signature back, or what stands for it if its call was withdrawn", async () => {
    const extra_content = { google: { thought_signature: "c2ln" } };
    const message = { role: "assistant", tool_calls: [chatCall("a", { extra_content }), chatCall("b")] };
    expect(await sentBack("openai", message)).toEqual([message]);
    expect(await sentBack("openai", message, { aborted: [0] })).toMatchObject([
      {
        tool_calls: [
          { id: "b", extra_content: { google: { thought_signature: "skip_thought_signature_validator" } } },
        ],
      },
    ]);
  });
});

test("Google gets signatures of texts and calls back, and what its own tools did", async () => {
  const parts = [
    { text: "So.", thoughtSignature: "dGV4dA==" },
    { executableCode: { language: "PYTHON", code: "1" } },
    { codeExecutionResult: { outcome: "OUTCOME_OK", output: "1" } },
    { text: "Then." },
    { functionCall: { name: "weather", args: input }, thoughtSignature: "c2ln" },
    { functionCall: { name: "weather", args: input } },
  ];
  const response = { candidates: [{ content: { role: "model", parts }, finishReason: "STOP" }] };
  for (const streamed of [true, false]) {
    const message = streamed ? [response] : response;
    expect(await sentBack("google", message, { streamed })).toEqual([{ role: "model", parts }]);
    expect(await sentBack("google", message, { streamed, aborted: [0] })).toEqual([
      {
        role: "model",
        parts: [...parts.slice(0, 4), { ...parts[5], thoughtSignature: "skip_thought_signature_validator" }],
      },
    ]);
  }
});

describe("Anthropic", () => {
  const search = { type: "server_tool_use", id: "s", name: "web_search", input: { query: "Rome" } };
  const found = {
    type: "web_search_tool_result",
    tool_use_id: "s",
    content: [{ encrypted_content: "b3BhcXVl" }],
  };
  const caller = { type: "code_execution_20260120", tool_id: "s" };

  test("gets interleaved reasoning and what its own tools did back", async () => {
    const content = [
      thinking("one"),
      search,
      found,
      { type: "text", text: "So." },
      { ...use("a"), caller },
      thinking("two"),
      use("b"),
    ];
    const message = { role: "assistant", stop_reason: "tool_use", content };
    expect(await sentBack("anthropic", message)).toEqual([{ role: "assistant", content }]);
    expect(await sentBack("anthropic", message, { aborted: [1] })).toEqual([
      { role: "assistant", content: content.slice(0, 5) },
    ]);
    expect(await sentBack("anthropic", message, { aborted: [0, 1] })).toEqual([
      { role: "assistant", content: content.slice(0, 4) },
    ]);
    const events = [
      { type: "message_start", message: { role: "assistant", content: [] } },
      ...content.flatMap((block, index) => {
        const { input: streamed, ...others } = block as { input?: object };
        const start = streamed === undefined ? block : { ...others, input: {} };
        const delta = { type: "input_json_delta", partial_json: JSON.stringify(streamed) };
        return [
          { type: "content_block_start", index, content_block: start },
          ...(streamed === undefined ? [] : [{ type: "content_block_delta", index, delta }]),
          { type: "content_block_stop", index },
        ];
      }),
      { type: "message_delta", delta: { stop_reason: "tool_use" } },
      { type: "message_stop" },
    ];
    expect(await sentBack("anthropic", events, { streamed: true })).toEqual([{ role: "assistant", content }]);
  });

  test("gets a text that the caller changed after its reasoning", async () => {
    const protocol = PROTOCOLS.anthropic(registry);
    const content = [thinking("one"), { type: "text", text: "So." }, use("a")];
    const turn = protocol.read({ role: "assistant", stop_reason: "tool_use", content });
    const [message] = protocol.toMessages(turn.calls, await converse(turn.calls), { ...turn, text: "Thus." });
    expect(message).toEqual({
      role: "assistant",
      content: [thinking("one"), { type: "text", text: "Thus." }, use("a")],
    });
  });
});

test("Bedrock gets reasoning of a stream back", async () => {
  const events = [
    { messageStart: { role: "assistant" } },
    ...["Be", "cause."].map((text) => ({
      contentBlockDelta: { contentBlockIndex: 0, delta: { reasoningContent: { text } } },
    })),
    { contentBlockDelta: { contentBlockIndex: 0, delta: { reasoningContent: { signature: "c2ln" } } } },
    { contentBlockStop: { contentBlockIndex: 0 } },
    { contentBlockStart: { contentBlockIndex: 1, start: { toolUse: { toolUseId: "a", name: "weather" } } } },
    { contentBlockDelta: { contentBlockIndex: 1, delta: { toolUse: { input: args } } } },
    { contentBlockStop: { contentBlockIndex: 1 } },
    { messageStop: { stopReason: "tool_use" } },
  ];
  expect(await sentBack("bedrock", events, { streamed: true })).toEqual([
    {
      role: "assistant",
      content: [
        { reasoningContent: { reasoningText: { text: "Because.", signature: "c2ln" } } },
        { toolUse: { toolUseId: "a", name: "weather", input } },
      ],
    },
  ]);
});

test("the AI SDK gets what its providers said of reasoning and calls", async () => {
  const signed = { anthropic: { signature: "c2ln" } };
  const called = { google: { thoughtSignature: "dGV4dA==" } };
  const call = { type: "tool-call", toolCallId: "a", toolName: "weather" };
  const expected = [
    {
      role: "assistant",
      content: [
        { type: "reasoning", text: "Because.", providerOptions: signed },
        { ...call, input, providerOptions: called },
      ],
    },
  ];
  const content = [
    { type: "reasoning", text: "Because.", providerMetadata: signed },
    { ...call, input: args, providerMetadata: called },
  ];
  expect(await sentBack("ai-sdk", { content, finishReason: "tool-calls" })).toEqual(expected);
  const events = [
    { type: "reasoning-start", id: "0" },
    { type: "reasoning-delta", id: "0", delta: "Because." },
    { type: "reasoning-end", id: "0", providerMetadata: signed },
    content[1] as object,
    { type: "finish", finishReason: "tool-calls" },
  ];
  expect(await sentBack("ai-sdk", events, { streamed: true })).toEqual(expected);
});
