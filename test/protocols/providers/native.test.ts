import { expect, test } from "vitest";
import { nativeProtocol } from "../../../src/protocols/providers/native.ts";
import { converse, registry } from "../converse.ts";
import { refusal } from "../refusals.ts";
import { readEvents } from "../streams.ts";

const native = nativeProtocol(registry);

const calls = [
  { id: "1", name: "weather", arguments: { city: "Rome" } },
  { id: "2", name: "weather", arguments: '{"city": 5}' },
  { id: "3", name: "aborted", arguments: {} },
];

test("reads the calls of an assistant message and of a bare list", () => {
  expect(native.read({ role: "assistant", toolCalls: calls }).calls).toEqual(calls);
  expect(native.read(calls).calls).toEqual(calls);
  expect(native.read({ role: "assistant" }).calls).toEqual([]);
});

test("refuses invalid messages with pointer and reason", () => {
  const refused = (message: unknown): string => refusal(native, message);
  expect(refused(7)).toBe(" must be an object");
  expect(refused("hello")).toBe(" is not valid JSON");
  expect(refused({ role: "user", toolCalls: calls })).toBe('/role must be "assistant"');
  expect(refused({ role: "assistant", toolCalls: {} })).toBe("/toolCalls must be a list");
  expect(refused([calls[0], 7])).toBe("/1 must be an object");
  expect(refused([{ name: "x", arguments: {} }])).toBe("/0/id must be a string");
  expect(refused({ role: "assistant", toolCalls: [{ id: "1", name: 1, arguments: {} }] })).toBe(
    "/toolCalls/0/name must be a string",
  );
  expect(refused([{ id: "1", name: "x" }])).toBe("/0/arguments is missing");
});

test("writes the two messages that continue the conversation, without the aborted call", async () => {
  const messages = native.toMessages(calls, await converse(calls));
  expect(messages).toEqual([
    { role: "assistant", toolCalls: calls.slice(0, 2) },
    {
      role: "tool",
      results: [
        {
          callId: "1",
          toolName: "weather",
          content: [{ type: "text", text: '{"city":"Rome","celsius":21}' }],
          isError: false,
        },
        {
          callId: "2",
          toolName: "weather",
          content: [{ type: "text", text: "Invalid arguments: /city must be string" }],
          isError: true,
        },
      ],
    },
  ]);
});

test("reads a stream of calls and messages, and keeps the text", async () => {
  const [first, second] = calls;
  const events = [
    { role: "assistant", text: "So.", toolCalls: [first] },
    second ?? {},
    { role: "assistant", text: "!" },
  ];
  const read = readEvents(native, events);
  expect(read).toMatchObject({ calls: [first, second], text: "So.!" });
  const [assistant] = native.toMessages(read.calls, await converse(read.calls), { text: read.text });
  expect(assistant).toEqual({ role: "assistant", text: "So.!", toolCalls: [first, second] });
});

test("offers the tools under their own names", () => {
  const { tools, problems } = native.toTools({ strict: true });
  expect(tools).toEqual(registry.definitions());
  expect(problems).toEqual([]);
});
