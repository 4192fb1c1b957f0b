import fc from "fast-check";
import { expect, test } from "vitest";
import { openAiChatProtocol } from "../../src/protocols/openai-chat.ts";
import { converse } from "./converse.ts";
import { refusal } from "./refusals.ts";

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

test("reads the calls with their arguments as the model wrote them", () => {
  const calls = openAiChatProtocol.readCalls(message);
  expect(calls).toHaveLength(4);
  expect(calls[0]).toEqual({ id: "call_1", name: "weather", arguments: '{ "city": "Rome" }' });
  expect(calls[1]).toEqual({ id: "call_2", name: "weather", arguments: '{"city": ' });
});

test("reads a whole chat completion", () => {
  const completion = { object: "chat.completion", choices: [{ index: 0, message }] };
  expect(openAiChatProtocol.readCalls(completion)).toEqual(openAiChatProtocol.readCalls(message));
});

test("reads what compatible servers send: no type, null for no calls", () => {
  const untyped = { role: "assistant", tool_calls: [{ id: "a", function: { name: "f", arguments: "" } }] };
  expect(openAiChatProtocol.readCalls(untyped)).toEqual([{ id: "a", name: "f", arguments: "" }]);
  expect(openAiChatProtocol.readCalls({ role: "assistant", tool_calls: null, content: "Hi" })).toEqual([]);
  expect(openAiChatProtocol.readCalls({ role: "assistant", content: "Hi" })).toEqual([]);
});

test("refuses what has not the shape, with pointer and reason", () => {
  const refused = (candidate: unknown): string => refusal(openAiChatProtocol, candidate);
  const assistant = (...calls: unknown[]): unknown => ({ role: "assistant", tool_calls: calls });
  expect(refused(null)).toBe(" must be an object");
  expect(refused({ ...message, role: "user" })).toBe('/role must be "assistant"');
  expect(refused({ choices: [] })).toBe("/choices/0 must be an object");
  expect(refused({ choices: [{ message: { ...message, role: "tool" } }] })).toBe(
    '/choices/0/message/role must be "assistant"',
  );
  expect(refused(assistant({ id: "1", type: "custom", custom: {} }))).toBe(
    '/tool_calls/0/type must be "function"',
  );
  expect(refused(assistant(toolCall("1", "f", "{}"), { id: "2" }))).toBe(
    "/tool_calls/1/function must be an object",
  );
  expect(refused(assistant({ id: "1", function: { name: "f", arguments: {} } }))).toBe(
    "/tool_calls/0/function/arguments must be a string",
  );
  expect(refused({ role: "assistant", function_call: { name: "f", arguments: "{}" } })).toMatch(
    /^\/function_call has no id/,
  );
});

test("answers each call that has a result with one tool message, in order", async () => {
  const calls = openAiChatProtocol.readCalls(message);
  const [assistant, ...results] = openAiChatProtocol.toMessages(calls, await converse(calls));
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
      content: expect.stringMatching(/^a pixel\n\[an image of type image\/png, \d+ characters/),
    },
  ]);
});

test("writes arguments that are no text as JSON text", async () => {
  const calls = [{ id: "1", name: "weather", arguments: { city: "Rome" } }];
  const [assistant] = openAiChatProtocol.toMessages(calls, await converse(calls));
  expect(assistant).toMatchObject({ tool_calls: [{ function: { arguments: '{"city":"Rome"}' } }] });
});

test("writes no message when every call was aborted", async () => {
  const calls = [{ id: "1", name: "aborted", arguments: "{}" }];
  expect(openAiChatProtocol.toMessages(calls, await converse(calls))).toEqual([]);
});

test("keeps any id, name and text of arguments as they are", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.string(), fc.string(), (id, name, args) => {
      const sent = { role: "assistant", tool_calls: [toolCall(id, name, args)] };
      expect(openAiChatProtocol.readCalls(sent)).toEqual([{ id, name, arguments: args }]);
    }),
  );
});
