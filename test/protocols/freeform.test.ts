import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { EventStream } from "../../src/engine/call/events.ts";
import type { ToolExecution } from "../../src/engine/call/execution.ts";
import { ToolDispatchEngine } from "../../src/engine/engine.ts";
import { ToolRegistry } from "../../src/engine/registry.ts";
import { defineTool } from "../../src/engine/tool.ts";
import { HostPolicy } from "../../src/policy/policy.ts";
import { PROTOCOLS } from "../../src/protocols/by-format.ts";
import { FORMATS, type Format } from "../../src/protocols/formats.ts";
import { aiSdkToolSet } from "../../src/protocols/providers/ai-sdk-tool-set.ts";
import { agentsToolSet } from "../../src/protocols/providers/openai/agents-tool-set.ts";
import { openAiChatProtocol } from "../../src/protocols/providers/openai/chat.ts";
import { openAiResponsesProtocol } from "../../src/protocols/providers/openai/responses.ts";
import type { TurnCall } from "../../src/protocols/turn.ts";
import { openSandboxes } from "../../src/sandboxes/open-sandboxes.ts";
import { readEvents, streamRefusal, toServerSentEvents } from "./streams.ts";

const sandboxes = await openSandboxes();
afterAll(() => sandboxes.close());

const registry = new ToolRegistry()
  .register(
    defineTool({ name: "sql.run", description: "Runs SQL.", freeform: true, host: (sql) => `ran ${sql}` }),
  )
  .register(
    defineTool({
      name: "add",
      description: "Adds.",
      inputSchema: { type: "object", properties: { a: { type: "number" } } },
      host: ({ a = 0 }) => a + 1,
    }),
  );
const ctx = { registry, policy: new HostPolicy(), sandboxes, sessionId: "test" };
const run = (calls: readonly TurnCall[]): Promise<(ToolExecution | null)[]> =>
  new ToolDispatchEngine().dispatchAll(calls, ctx);

const chat = openAiChatProtocol(registry);
const responses = openAiResponsesProtocol(registry);
const objectSchema = {
  type: "object",
  properties: { input: { type: "string" } },
  required: ["input"],
  additionalProperties: false,
};

describe("OpenAI Responses", () => {
  const item = {
    type: "custom_tool_call",
    id: "ctc_1",
    call_id: "1",
    name: "sql_run",
    status: "completed",
    input: '{"not":"JSON"',
  };
  const foreign = { ...item, name: "add", call_id: "2" };
  const [called] = responses.read([item]).calls;

  test("is offered a custom tool, even if strict tools are asked for", () => {
    const custom = { type: "custom", name: "sql_run", description: "Runs SQL." };
    expect(responses.toTools().tools[0]).toEqual(custom);
    const strict = responses.toTools({ strict: true });
    expect([strict.tools[0], strict.problems]).toEqual([custom, []]);
    expect(responses.toTools({ customTools: false }).tools[0]).toMatchObject({
      type: "function",
      name: "sql_run",
      parameters: objectSchema,
    });
  });

  test("has the calls of free-form tools dispatched with their text, and answered as custom calls", async () => {
    const turn = responses.read({ status: "completed", output: [item] });
    expect(turn.calls).toEqual([{ id: "1", name: "sql.run", arguments: '{"not":"JSON"', custom: true }]);
    const executions = await run(turn.calls);
    expect(executions[0]).toMatchObject({ success: true, arguments: '{"not":"JSON"' });
    const output = { type: "custom_tool_call_output", call_id: "1", output: 'ran {"not":"JSON"' };
    expect(responses.toResults(turn.calls, executions)).toEqual([output]);
    expect(responses.toMessages(turn.calls, executions)).toEqual([
      { type: "custom_tool_call", call_id: "1", name: "sql_run", input: '{"not":"JSON"' },
      output,
    ]);
  });

  test("has custom calls of other tools left to the embedder", () => {
    const turn = responses.read([foreign, { ...foreign, name: "unknown" }, item]);
    expect(turn.calls).toEqual([called]);
    expect(turn.other).toMatchObject([
      { type: "custom_tool_call", name: "add" },
      { type: "custom_tool_call", name: "unknown" },
    ]);
  });

  test("reads a function call of a free-form tool, and answers it as one", async () => {
    const call = { type: "function_call", call_id: "1", name: "sql_run", arguments: '{"input":"SELECT 1"}' };
    const { calls } = responses.read([call]);
    expect(calls).toEqual([{ id: "1", name: "sql.run", arguments: "SELECT 1" }]);
    expect(responses.toMessages(calls, await run(calls))).toEqual([
      { type: "function_call", call_id: "1", name: "sql_run", arguments: '{"input":"SELECT 1"}' },
      { type: "function_call_output", call_id: "1", output: "ran SELECT 1" },
    ]);
  });

  const { status: _, ...begun } = item;
  const events = [
    { type: "response.created", response: {} },
    { type: "response.output_item.added", item: { ...begun, input: "" } },
    { type: "response.custom_tool_call_input.delta", item_id: "ctc_1", delta: item.input },
    { type: "response.custom_tool_call_input.done", item_id: "ctc_1", input: item.input },
    { type: "response.output_item.done", item },
    { type: "response.output_item.done", item: foreign },
    { type: "response.completed", response: {} },
  ];

  test("is read as a stream, too", () => {
    const read = readEvents(responses, events);
    expect(read.calls).toEqual([called]);
    expect(read.other).toMatchObject([{ type: "custom_tool_call", name: "add" }]);
    const cut = toServerSentEvents(events.slice(0, 3));
    expect(streamRefusal(responses.stream(), (stream) => [stream.push(cut), stream.end()])).toMatch(
      /ends inside a call/,
    );
  });

  test("has no call run whose text may have been cut off", () => {
    const incomplete = { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } };
    const turn = responses.read({ ...incomplete, output: [{ ...item, status: "incomplete" }] });
    expect([turn.calls, turn.cutOff]).toEqual([[], true]);
    const unmarked = responses.read({ ...incomplete, output: [begun] });
    expect(unmarked.calls).toEqual([]);
  });
});

describe("OpenAI Chat Completions", () => {
  const custom = { id: "1", type: "custom", custom: { name: "sql_run", input: "SELECT 1" } };
  const other = { id: "2", type: "custom", custom: { name: "add", input: "1" } };
  const message = { role: "assistant", content: null, tool_calls: [custom, other] };

  test("is offered a custom tool, or a function for servers that have none", () => {
    expect(chat.toTools({ strict: true }).tools[0]).toEqual({
      type: "custom",
      custom: { name: "sql_run", description: "Runs SQL." },
    });
    expect(chat.toTools({ customTools: false }).tools[0]).toMatchObject({
      function: { name: "sql_run", parameters: objectSchema },
    });
  });

  test("has the calls of free-form tools dispatched, and those of other tools left to the embedder", async () => {
    const { calls, other: left } = chat.read(message);
    expect(left).toMatchObject([{ type: "custom", id: "2", name: "add" }]);
    expect(chat.toMessages(calls, await run(calls))).toEqual([
      { role: "assistant", tool_calls: [custom] },
      { role: "tool", tool_call_id: "1", content: "ran SELECT 1" },
    ]);
  });

  test("is read as a stream, too", () => {
    const delta = (...tool_calls: object[]): object => ({ choices: [{ index: 0, delta: { tool_calls } }] });
    const events = [
      delta({ index: 0, id: "1", type: "custom", custom: { name: "sql_run", input: "" } }),
      delta({ index: 0, custom: { input: "SELECT" } }),
      delta({ index: 1, id: "2", type: "custom", custom: { name: "add", input: "" } }),
      delta({ index: 1, custom: { input: "1" } }),
      delta({ index: 0, custom: { input: " 1" } }),
    ];
    const end = (finish_reason: string): object => ({ choices: [{ index: 0, delta: {}, finish_reason }] });
    const read = readEvents(chat, [...events, end("tool_calls")]);
    expect(read.calls).toEqual(chat.read(message).calls);
    expect(read.other).toMatchObject([{ type: "custom", id: "2", name: "add" }]);
    expect(readEvents(chat, [...events, end("length")])).toMatchObject({ calls: [], cutOff: true });
  });
});

describe("every format", () => {
  const texts = fc.oneof(fc.string(), fc.json(), fc.constantFrom("", "null", '{"input":"x"}', '"x"'));

  test.each(FORMATS)("gives the tool the text that the model wrote, in %s", async (format: Format) => {
    const protocol = PROTOCOLS[format](registry);
    await fc.assert(
      fc.asyncProperty(texts, fc.boolean(), async (text, custom) => {
        const call = { id: "1", name: "sql.run", arguments: text, ...(custom && { custom }) } as TurnCall;
        const [message, ...more] = protocol.toMessages([call], await run([call])) as [object];
        const assistant = format === "openai-responses" ? [message] : message;
        const turn = protocol.read(assistant);
        expect(turn.calls).toMatchObject([{ name: "sql.run", arguments: text }]);
        expect(turn.calls[0]).not.toHaveProperty("problem");
        expect(more.length).toBe(1);
      }),
      { numRuns: 50 },
    );
  });

  test("fails a call without a text with what to correct", async () => {
    const anthropic = PROTOCOLS.anthropic(registry);
    const blocks = [{ query: "x" }, { input: 1 }, { input: "x", more: 1 }, {}].map((input, index) => ({
      type: "tool_use",
      id: String(index),
      name: "sql_run",
      input,
    }));
    const message = { role: "assistant", content: blocks, stop_reason: "tool_use" };
    const { calls } = anthropic.read(message);
    for (const execution of await run(calls)) {
      expect(execution?.error).toMatchObject({
        code: "validation_error",
        message: "Invalid arguments: must be an object with one member, the string 'input'",
      });
    }
    const [assistant] = anthropic.toMessages(calls, await run(calls));
    expect(assistant).toEqual({ role: "assistant", content: blocks });
    const broken = { id: "1", type: "function", function: { name: "sql_run", arguments: "{" } };
    const turn = chat.read({ role: "assistant", tool_calls: [broken] });
    expect((await run(turn.calls))[0]?.error?.message).toMatch(/^Invalid JSON/);
  });
});

describe("the tools of an SDK", () => {
  test("take an object with the text", async () => {
    const { tools } = aiSdkToolSet(ctx);
    expect(await tools["sql_run"]?.execute({ input: "SELECT 1" }, { toolCallId: "1" })).toBe("ran SELECT 1");
    const agents = agentsToolSet(ctx).tools[0];
    expect(agents?.parameters).toMatchObject({ required: ["input"] });
    const toolCall = { callId: "1", arguments: '{"input":"{"}' };
    expect(await agents?.execute({ input: "{" }, undefined, { toolCall })).toBe("ran {");
  });

  test("have a call dispatched that the SDK refused, and not run", async () => {
    const events = new EventStream();
    const seen: string[] = [];
    events.on(({ type }) => seen.push(type));
    const set = aiSdkToolSet({ ...ctx, events });
    for (const input of ['{"input":"x"}', "{", "{}"]) {
      await set.repairToolCall({ toolCall: { toolCallId: "1", toolName: "sql_run", input } });
    }
    expect(seen).toEqual(["tool.failed", "tool.failed", "tool.failed"]);
  });
});
