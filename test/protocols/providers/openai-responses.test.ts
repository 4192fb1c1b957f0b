import OpenAI from "openai";
import { describe, expect, expectTypeOf, test } from "vitest";
import { openAiResponsesProtocol } from "../../../src/protocols/providers/openai/responses.ts";
import { converse, PIXEL, registry } from "../converse.ts";
import { refusal } from "../refusals.ts";
import { fetchStream } from "../sdk-fetch.ts";
import { readAll, readEvents, streamRefusal, toServerSentEvents } from "../streams.ts";

const responses = openAiResponsesProtocol(registry);

const functionCall = (call_id: string, name: string, args: string) => ({
  id: `fc_${call_id}`,
  type: "function_call",
  status: "completed",
  call_id,
  name,
  arguments: args,
});
const said = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text: "Let me see.", annotations: [] }],
};
const output = [
  { id: "rs_1", type: "reasoning", summary: [] },
  said,
  functionCall("call_1", "weather", '{ "city": "Rome" }'),
  { id: "ws_1", type: "web_search_call", status: "completed" },
  functionCall("call_2", "_3d-print", "{}"),
];
const calls = [
  { id: "call_1", name: "weather", arguments: '{ "city": "Rome" }' },
  { id: "call_2", name: "3d-print", arguments: "{}" },
];
const response = {
  id: "resp_1",
  object: "response",
  created_at: 1,
  model: "gpt",
  status: "completed",
  output,
};

test("reads a response, its items, and a single call, and tells the provider's own calls apart", () => {
  expect(responses.read(response)).toMatchObject({ calls, text: "Let me see." });
  expect(responses.read(output)).toMatchObject({ calls, text: "Let me see." });
  expect(responses.read(output).other).toEqual([
    { type: "web_search_call", id: "ws_1", name: undefined, item: output[3] },
  ]);
  expect(responses.read(output[2])).toMatchObject({ calls: [calls[0]], text: "" });
});

test("refuses invalid messages with pointer and reason", () => {
  const refused = (message: unknown): string => refusal(responses, message);
  expect(refused(7)).toBe(" must be an object");
  expect(refused({})).toBe("/output must be a list");
  expect(refused({ output: [7] })).toBe("/output/0 must be an object");
  expect(refused([{ type: "function_call", call_id: 7 }])).toBe("/0/call_id must be a string");
});

test("writes one item per result, after the assistant's items", async () => {
  expect(responses.toMessages(calls, await converse(calls), { text: "Let me see." })).toEqual([
    { role: "assistant", content: "Let me see." },
    { type: "function_call", call_id: "call_1", name: "weather", arguments: '{ "city": "Rome" }' },
    { type: "function_call", call_id: "call_2", name: "_3d-print", arguments: "{}" },
    { type: "function_call_output", call_id: "call_1", output: '{"city":"Rome","celsius":21}' },
    { type: "function_call_output", call_id: "call_2", output: "done" },
  ]);
});

test("writes images that the provider accepts, and placeholders for others", async () => {
  const outputOf = async (type: string): Promise<unknown> => {
    const call = { id: "1", name: "picture", arguments: { type } };
    return responses.toResults([call], await converse([call]));
  };
  const text = { type: "input_text", text: "a pixel" };
  const url = `data:image/png;base64,${PIXEL}`;
  expect(await outputOf("image/png")).toMatchObject([
    { output: [text, { type: "input_image", image_url: url, detail: "auto" }] },
  ]);
  expect(await outputOf("image/bmp")).toMatchObject([
    { output: expect.stringMatching(/^a pixel\n\[image omitted: image\/bmp/) },
  ]);
});

test("always sets strict in the tools, as the provider's default is true", () => {
  const [tool] = responses.toTools().tools;
  expect(tool).toMatchObject({ type: "function", name: "weather", strict: false });
  expect(responses.toTools({ strict: true }).tools[0]).toMatchObject({ strict: true });
});

describe("a stream", () => {
  const items = output.flatMap((item, output_index) => {
    const begun = {
      ...item,
      ...("arguments" in item && { arguments: "" }),
      ...(item === said && { content: [] }),
    };
    const part = { type: "output_text", text: "", annotations: [] };
    const at = { output_index, item_id: item.id, content_index: 0 };
    const args = "arguments" in item ? String(item.arguments) : "";
    return [
      { type: "response.output_item.added", output_index, item: begun },
      ...(item === said
        ? [
            { type: "response.content_part.added", ...at, part },
            { type: "response.output_text.delta", ...at, delta: "Let me " },
            { type: "response.output_text.delta", ...at, delta: "see." },
          ]
        : []),
      ...(args === "" ? [] : [{ type: "response.function_call_arguments.delta", ...at, delta: args }]),
      { type: "response.output_item.done", output_index, item },
    ];
  });
  const events = [
    { type: "response.created", response: { ...response, status: "in_progress", output: [] } },
    ...items,
    { type: "response.completed", response },
  ].map((event, sequence_number) => ({ ...event, sequence_number }));

  test("has the same calls and text for any chunks", () => {
    expect(readEvents(responses, events)).toMatchObject({ calls, text: "Let me see." });
  });

  test("has the same result as the provider's SDK", async () => {
    const body = toServerSentEvents(events);
    const client = new OpenAI({ apiKey: "none", fetch: fetchStream(body) });
    const final = await client.responses.stream({ model: "gpt", input: "Hi" }).finalResponse();
    expect(responses.read(final)).toEqual(readAll(responses, [body]));
  });

  test("is refused if it ends inside a call", () => {
    const cut = toServerSentEvents(events.slice(0, 9));
    expect(streamRefusal(responses.stream(), (stream) => [stream.push(cut), stream.end()])).toBe(
      "the message ends inside a call, without its 'response.completed'",
    );
  });

  test("is refused if the response failed", () => {
    const failed = { type: "response.failed", response: { ...response, status: "failed" } };
    expect(streamRefusal(responses.stream(), (stream) => stream.pushEvent(failed))).toBe(
      "event 1: it reports a provider error",
    );
  });
});

test("is compatible with the SDK's types", () => {
  expectTypeOf(responses.toTools().tools).toExtend<OpenAI.Responses.Tool[]>();
  expectTypeOf(responses.toMessages([], [])).toExtend<readonly OpenAI.Responses.ResponseInputItem[]>();
});
