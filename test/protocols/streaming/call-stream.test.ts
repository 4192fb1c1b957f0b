import { describe, expect, test } from "vitest";
import type { CallStream } from "../../../src/protocols/call-stream.ts";
import { MAX_ARGUMENTS_LENGTH, MAX_CALLS } from "../../../src/protocols/parsing/limits.ts";
import { openAiChatProtocol } from "../../../src/protocols/providers/openai/chat.ts";
import { registry } from "../converse.ts";
import { streamRefusal } from "../streams.ts";

const openai = openAiChatProtocol(registry);
const piece = (index: number, id: string | undefined, args: string): object => ({
  choices: [{ delta: { tool_calls: [{ index, id, function: { name: "weather", arguments: args } }] } }],
});
const finish = { choices: [{ delta: {}, finish_reason: "tool_calls" }] };
const refused = (push: (stream: CallStream) => unknown): string => streamRefusal(openai.stream(), push);

async function* pieces(...texts: string[]): AsyncGenerator<string> {
  yield* texts;
}

test("reads a body call by call, each as soon as it is complete", async () => {
  const events = [piece(0, "1", "{}"), piece(0, "2", "{"), piece(0, undefined, "}"), finish];
  const stream = openai.stream();
  const seen: string[] = [];
  const body = pieces(...events.map((event) => `${JSON.stringify(event)}\n`), "[DONE]");
  for await (const { id, arguments: args } of stream.read(body)) seen.push(`${id} ${args}`);
  expect(seen).toEqual(["1 {}", "2 {}"]);
  await expect(async () => {
    for await (const { id } of openai.stream().read(pieces('{"choices": [', "]"))) seen.push(id);
  }).rejects.toThrow("event 1: it is not valid JSON");
});

describe("an incomplete or invalid stream", () => {
  test("is refused if it ends inside a call", () => {
    expect(
      refused((stream) => {
        stream.pushEvent(piece(0, "1", '{"city":"Rome"}'));
        stream.end();
      }),
    ).toBe("the message ends inside a call, without its 'finish_reason'");
  });

  test("is refused if it ends inside an event, and stays broken", () => {
    const stream = openai.stream();
    const reason = "event 1: it is not valid JSON";
    expect(streamRefusal(stream, () => [stream.push('data: {"choices":'), stream.end()])).toBe(reason);
    expect(streamRefusal(stream, () => stream.pushEvent(finish))).toBe(reason);
  });

  test("is refused if it reports an error, whose text is not repeated", () => {
    const event = { error: { message: "sk-secret is not a valid key" } };
    expect(refused((stream) => stream.pushEvent(event))).toBe("event 1: /error reports a provider error");
  });

  test("is refused if none of its events is of the format", () => {
    const events = [{ type: "message_start", message: { content: [] } }, { type: "message_stop" }];
    expect(
      refused((stream) => {
        for (const event of events) stream.pushEvent(event);
        stream.end();
      }),
    ).toBe("the message is not a stream of this format");
  });

  test("is refused if it ends before the provider says why, even after `[DONE]`", () => {
    const text = 'data: {"choices":[{"delta":{"content":"Hi"}}]}\n\ndata: [DONE]\n\n';
    expect(refused((stream) => [stream.push(text), stream.end()])).toBe(
      "the message ends without its 'finish_reason'",
    );
    expect(refused((stream) => stream.end())).toBe("the message ends without its 'finish_reason'");
  });

  test("is refused if a call has no name", () => {
    const nameless = { choices: [{ delta: { tool_calls: [{ index: 0, id: "1", function: {} }] } }] };
    expect(
      refused((stream) => [nameless, finish].map((event) => stream.pushEvent(event)) && stream.end()),
    ).toBe("event 2: it has a call without a name");
    const stream = openai.stream();
    const cutOff = { choices: [{ delta: {}, finish_reason: "length" }] };
    expect([nameless, cutOff].flatMap((event) => stream.pushEvent(event)).concat(stream.end())).toEqual([]);
    expect(stream.cutOff).toBe(true);
  });
});

describe("a hostile stream is bounded", () => {
  test("by its number of calls", () => {
    expect(
      refused((stream) => {
        for (let at = 0; at <= MAX_CALLS; at++) stream.pushEvent(piece(at, `call_${at}`, "{}"));
      }),
    ).toBe(`event ${MAX_CALLS + 1}: it has more than 1024 calls`);
  });

  test("by the arguments of one call", () => {
    const text = " ".repeat(1_024 * 1_024);
    expect(
      refused((stream) => {
        for (let length = 0; length <= MAX_ARGUMENTS_LENGTH; length += text.length) {
          stream.pushEvent(piece(0, "1", text));
        }
      }),
    ).toBe("event 17: it has arguments longer than 16 MiB");
  });

  test("by its depth", () => {
    const deep = `{"choices":${"[".repeat(100_000)}${"]".repeat(100_000)}}\n`;
    expect(refused((stream) => stream.push(deep))).toBe("event 1: it is nested deeper than 512 levels");
  });
});

test.each([
  ["a number", 7, "event 1: it must be an object"],
  ["choices that are not a list", { choices: 7 }, "event 1: /choices must be a list"],
  [
    "arguments that are a number",
    { choices: [{ delta: { tool_calls: [{ id: "1", function: { name: "f", arguments: 7 } }] } }] },
    "/function/arguments must be a string",
  ],
])("refuses an event with %s", (_, event, message) => {
  expect(refused((stream) => stream.pushEvent(event))).toContain(message);
});
