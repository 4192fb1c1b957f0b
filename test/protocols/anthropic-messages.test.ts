import { expect, test } from "vitest";
import { anthropicMessagesProtocol } from "../../src/protocols/anthropic-messages.ts";
import { converse, PIXEL } from "./converse.ts";
import { refusal } from "./refusals.ts";

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

test("reads the calls of an assistant message, and not those that the provider ran itself", () => {
  const calls = [
    { id: "toolu_1", name: "weather", arguments: { city: "Rome" } },
    { id: "toolu_2", name: "broken", arguments: {} },
    { id: "toolu_3", name: "aborted", arguments: {} },
  ];
  expect(anthropicMessagesProtocol.readCalls(message)).toEqual(calls);
  const response = { id: "msg_1", type: "message", stop_reason: "tool_use", ...message };
  expect(anthropicMessagesProtocol.readCalls(response)).toEqual(calls);
  expect(anthropicMessagesProtocol.readCalls({ role: "assistant", content: "Hi" })).toEqual([]);
});

test("refuses what has not the shape, with pointer and reason", () => {
  const refused = (candidate: unknown): string => refusal(anthropicMessagesProtocol, candidate);
  const assistant = (...content: unknown[]): unknown => ({ role: "assistant", content });
  expect(refused([message])).toBe(" must be an object");
  expect(refused({ ...message, role: "user" })).toBe('/role must be "assistant"');
  expect(refused({ role: "assistant" })).toBe("/content must be a list");
  expect(refused(assistant("text"))).toBe("/content/0 must be an object");
  expect(refused(assistant({ type: "tool_use", name: "x", input: {} }))).toBe(
    "/content/0/id must be a string",
  );
  expect(refused(assistant({ type: "text" }, { type: "tool_use", id: "1", input: {} }))).toBe(
    "/content/1/name must be a string",
  );
  expect(refused(assistant({ type: "tool_use", id: "1", name: "x", input: "{}" }))).toBe(
    "/content/0/input must be an object",
  );
});

test("answers with one user message that holds a result for each call, errors marked", async () => {
  const calls = anthropicMessagesProtocol.readCalls(message);
  expect(anthropicMessagesProtocol.toMessages(calls, await converse(calls))).toEqual([
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

/** The content of the only result of a call. */
async function resultContent(name: string, args: object = {}): Promise<unknown> {
  const calls = [{ id: "1", name, arguments: { ...args } }];
  const messages = anthropicMessagesProtocol.toMessages(calls, await converse(calls));
  return messages[1]?.content.map((block) => block.type === "tool_result" && block.content)[0];
}

test("shows images as base64 blocks", async () => {
  expect(await resultContent("picture", { type: "image/png" })).toEqual([
    { type: "text", text: "a pixel" },
    { type: "image", source: { type: "base64", media_type: "image/png", data: PIXEL } },
  ]);
});

test("tells of images that the provider would refuse: other types, and those of a failure", async () => {
  const told = { type: "text", text: expect.stringContaining("an image of type") };
  expect(await resultContent("picture", { type: "image/bmp" })).toEqual([
    { type: "text", text: "a pixel" },
    told,
  ]);
  expect(await resultContent("failed-picture")).toEqual([{ type: "text", text: "half" }, told]);
});

test("leaves out empty texts, which the provider refuses", async () => {
  expect(await resultContent("silent")).toEqual([]);
});

test.each([
  ["JSON text of an object", '{"city":"Rome"}', { city: "Rome" }],
  ["broken JSON", '{"city":', { arguments: '{"city":' }],
  ["JSON text of no object", "[1]", { arguments: "[1]" }],
  ["a value that is no object", [1], { arguments: [1] }],
])("echoes arguments of another format as an object: %s", async (_, args, input) => {
  const calls = [{ id: "1", name: "weather", arguments: args }];
  const [assistant] = anthropicMessagesProtocol.toMessages(calls, await converse(calls));
  expect(assistant?.content).toEqual([toolUse("1", "weather", input)]);
});

test("writes no message when every call was aborted", async () => {
  const calls = [{ id: "1", name: "aborted", arguments: {} }];
  expect(anthropicMessagesProtocol.toMessages(calls, await converse(calls))).toEqual([]);
});
