import type Anthropic from "@anthropic-ai/sdk";
import type OpenAI from "openai";
import { describe, expect, test } from "vitest";
import type { DispatchContext } from "../../src/engine/call/context.ts";
import { ToolDispatchEngine } from "../../src/engine/engine.ts";
import { HostPolicy } from "../../src/policy/policy.ts";
import { PROTOCOLS } from "../../src/protocols/by-format.ts";
import type { Format } from "../../src/protocols/formats.ts";
// Inside: tries every stop reason that is listed, and compares the lists with the types of the SDKs.
import { STOP_REASONS, TERMINALS } from "../../src/protocols/parsing/stop-reasons.ts";
import { openSandboxes } from "../../src/sandboxes/open-sandboxes.ts";
import { registry } from "./converse.ts";
import { readAll, streamRefusal, toServerSentEvents } from "./streams.ts";

/** How a provider writes a call with `{"city":"Rome"}`, then one whose arguments are cut off after `{"city":`. */
interface Written {
  /** The whole message. Absent if it always has complete calls. */
  readonly message?: (reason: string) => object;
  /** The events before the one that says why the message stopped. */
  readonly events: readonly object[];
  readonly last: (reason: string) => readonly object[];
}

const rome = '{"city":"Rome"}';
const half = '{"city":';
const input = { city: "Rome" };
const finished = { unified: "stop", raw: undefined };
const chatCall = (index: number, args: string): object => ({
  index,
  id: String(index),
  type: "function",
  function: { name: "weather", arguments: args },
});
const item = (id: string, args: string, status: string): object => ({
  type: "function_call",
  call_id: id,
  name: "weather",
  arguments: args,
  status,
});
const toolUse = (id: string, value: object): object => ({
  type: "tool_use",
  id,
  name: "weather",
  input: value,
});
const converse = (id: string, value?: object): object => ({
  toolUse: { toolUseId: id, name: "weather", input: value },
});
const part = (toolCallId: string, args: string): object => ({
  type: "tool-call",
  toolCallId,
  toolName: "weather",
  input: args,
});
const google = (...parts: object[]): object => ({ candidates: [{ content: { role: "model", parts } }] });
const block = (index: number, start: object, args: string): readonly object[] => [
  { type: "content_block_start", index, content_block: start },
  { type: "content_block_delta", index, delta: { type: "input_json_delta", partial_json: args } },
  // The provider ends the block even if it was cut off.
  { type: "content_block_stop", index },
];
const converseBlock = (contentBlockIndex: number, args: string): readonly object[] => [
  { contentBlockStart: { contentBlockIndex, start: converse(String(contentBlockIndex)) } },
  { contentBlockDelta: { contentBlockIndex, delta: { toolUse: { input: args } } } },
  { contentBlockStop: { contentBlockIndex } },
];
const cohereCall = (index: number, args: string): readonly object[] => [
  { type: "tool-call-start", index, delta: { message: { tool_calls: chatCall(index, "") } } },
  {
    type: "tool-call-delta",
    index,
    delta: { message: { tool_calls: { function: { arguments: args } } } },
  },
  { type: "tool-call-end", index },
];

const WRITTEN: Readonly<Record<Exclude<Format, "native">, Written>> = {
  openai: {
    message: (reason) => ({
      choices: [
        {
          message: { role: "assistant", tool_calls: [chatCall(0, rome), chatCall(1, half)] },
          finish_reason: reason,
        },
      ],
    }),
    events: [chatCall(0, rome), chatCall(1, half)].map((call) => ({
      choices: [{ delta: { tool_calls: [call] } }],
    })),
    last: (reason) => [{ choices: [{ delta: {}, finish_reason: reason }] }],
  },
  "openai-responses": {
    message: (reason) => ({
      status: reason === "completed" ? reason : "incomplete",
      incomplete_details: reason === "completed" ? null : { reason },
      output: [
        item("0", rome, "completed"),
        item("1", half, reason === "completed" ? "completed" : "incomplete"),
      ],
    }),
    events: [item("0", rome, "completed"), item("1", half, "in_progress")].map((item) => ({
      type: "response.output_item.done",
      item,
    })),
    last: (reason) => [
      reason === "completed"
        ? { type: "response.completed", response: {} }
        : { type: "response.incomplete", response: { incomplete_details: { reason } } },
    ],
  },
  anthropic: {
    message: (reason) => ({
      role: "assistant",
      stop_reason: reason,
      content: [toolUse("0", input), toolUse("1", {})],
    }),
    events: [...block(0, toolUse("0", {}), rome), ...block(1, toolUse("1", {}), "")],
    last: (reason) => [{ type: "message_delta", delta: { stop_reason: reason } }, { type: "message_stop" }],
  },
  "ai-sdk": {
    message: (reason) => ({
      content: [part("0", rome), part("1", "{}")],
      finishReason: { unified: reason, raw: reason },
    }),
    events: [
      { type: "tool-input-start", id: "0", toolName: "weather" },
      part("0", rome),
      { type: "tool-input-start", id: "1", toolName: "weather" },
      part("1", "{}"),
    ],
    last: (reason) => [{ type: "finish", finishReason: { ...finished, unified: reason } }],
  },
  google: {
    events: [
      google({ functionCall: { id: "0", name: "weather", args: input } }),
      google({ functionCall: { id: "1", name: "weather", willContinue: true } }),
    ],
    last: (reason) => [{ candidates: [{ finishReason: reason }] }],
  },
  cohere: {
    message: (reason) => ({
      message: { role: "assistant", tool_calls: [chatCall(0, rome), chatCall(1, half)] },
      finish_reason: reason,
    }),
    events: [...cohereCall(0, rome), ...cohereCall(1, half)],
    last: (reason) => [{ type: "message-end", delta: { finish_reason: reason } }],
  },
  bedrock: {
    message: (reason) => ({
      output: { message: { role: "assistant", content: [converse("0", input), converse("1", {})] } },
      stopReason: reason,
    }),
    events: [...converseBlock(0, rome), ...converseBlock(1, "")],
    last: (reason) => [{ messageStop: { stopReason: reason } }],
  },
};

const engine = new ToolDispatchEngine();
const context: DispatchContext = {
  registry,
  policy: new HostPolicy(),
  sessionId: "session",
  sandboxes: await openSandboxes(),
};
const REFUSED = {
  code: "cancelled",
  effect: "none",
  userVisible: true,
  message: "Tool call was not run: its message was cut off",
};

describe.each(Object.entries(WRITTEN))("%s", (name, { message, events, last }) => {
  const format = name as Format;
  const protocol = PROTOCOLS[format](registry);
  const reasons = Object.entries(STOP_REASONS[format]);

  if (message !== undefined) {
    test.each([...reasons, ["brand_new_reason", "unclear"]])("whole: %s is %s", (reason, ending) => {
      const { calls, cutOff, stopReason } = protocol.read(message(reason));
      expect(stopReason).toBe(reason);
      expect(cutOff).toBe(ending !== "whole");
      expect(calls.map(({ id, cutOff }) => [id, cutOff])).toEqual(
        ending === "whole"
          ? [
              ["0", undefined],
              ["1", undefined],
            ]
          : [["0", true]],
      );
    });
  }

  test.each([...reasons, ["brand_new_reason", "unclear"]])("a stream: %s is %s", (reason, ending) => {
    const stream = protocol.stream();
    const all = [...events, ...last(reason)];
    // The other events end each call, but this stream stops in the middle of one.
    if (format === "google" && ending === "whole") {
      expect(
        streamRefusal(stream, () => [...all.map((event) => stream.pushEvent(event)), stream.end()]),
      ).toBe("the message ends inside a call");
      return;
    }
    const { calls, cutOff, stopReason } = readAll(protocol, [toServerSentEvents(all)]);
    expect(stopReason).toBe(reason);
    expect(cutOff).toBe(ending !== "whole");
    expect(calls.map(({ id }) => id)).toEqual(ending === "whole" ? ["0", "1"] : ["0"]);
  });

  if (message !== undefined) {
    test.each([
      ...reasons,
      ["brand_new_reason", "unclear"],
    ])("whole: %s is %s, which decides whether its calls are dispatched", async (reason, ending) => {
      const executions = await engine.dispatchTurn(protocol.read(message(reason)), context);
      const [first, ...others] = executions;
      if (ending !== "whole") {
        expect(executions).toMatchObject([{ success: false, error: REFUSED }]);
        return;
      }
      expect(first).toMatchObject({ output: { city: "Rome", celsius: 21 } });
      // The arguments of the second one are not valid: that it was dispatched is what counts here.
      expect(others).toMatchObject([{ error: { code: "validation_error" } }]);
    });
  }

  test.each([
    ...reasons,
    ["brand_new_reason", "unclear"],
  ])("a stream: %s is %s, which decides whether its last call is dispatched", async (reason, ending) => {
    const complete = events.slice(0, format === "google" ? 1 : events.length / 2);
    const turn = readAll(protocol, [toServerSentEvents([...complete, ...last(reason)])]);
    // No call of the stream is half a call, so a reason that says nothing about calls does not matter.
    expect(await engine.dispatchTurn(turn, context)).toMatchObject([
      ending === "cut off"
        ? { success: false, error: REFUSED }
        : { success: true, output: { city: "Rome", celsius: 21 } },
    ]);
  });

  test("a stream without its last event is refused, which names that event", () => {
    for (let length = 0; length < events.length; length++) {
      const stream = protocol.stream();
      const text = toServerSentEvents(events.slice(0, length));
      expect(streamRefusal(stream, () => [stream.push(text), stream.end()])).toContain(
        `without its '${TERMINALS[format]}'`,
      );
    }
  });
});

test("every reason that the SDKs of OpenAI and Anthropic know is listed", () => {
  // Records, so that the compiler reports a reason that an SDK adds.
  const anthropic: Record<Anthropic.Beta.BetaStopReason, true> = {
    end_turn: true,
    max_tokens: true,
    stop_sequence: true,
    tool_use: true,
    pause_turn: true,
    compaction: true,
    refusal: true,
    model_context_window_exceeded: true,
  };
  const openai: Record<OpenAI.ChatCompletion.Choice["finish_reason"], true> = {
    stop: true,
    length: true,
    tool_calls: true,
    content_filter: true,
    function_call: true,
  };
  type Details = NonNullable<OpenAI.Responses.Response["incomplete_details"]>;
  const responses: Record<NonNullable<Details["reason"]>, true> = {
    max_output_tokens: true,
    max_messages: true,
    content_filter: true,
    steered: true,
  };
  expect(Object.keys(STOP_REASONS.anthropic)).toEqual(expect.arrayContaining(Object.keys(anthropic)));
  expect(Object.keys(STOP_REASONS.openai)).toEqual(expect.arrayContaining(Object.keys(openai)));
  expect(Object.keys(STOP_REASONS["openai-responses"])).toEqual(
    expect.arrayContaining(Object.keys(responses)),
  );
});

test("the calls that ran before a stream was cut off stay reported, and are not marked", () => {
  const { events, last } = WRITTEN.anthropic;
  const stream = PROTOCOLS.anthropic(registry).stream();
  const early = events.flatMap((event) => stream.pushEvent(event));
  expect(early).toEqual([{ id: "0", name: "weather", arguments: rome }]);
  expect(last("max_tokens").flatMap((event) => stream.pushEvent(event))).toEqual([]);
  expect([stream.cutOff, stream.stopReason]).toEqual([true, "max_tokens"]);
});

test("a reason that says nothing about calls marks no call if all of them are complete", () => {
  const tool_calls = [chatCall(0, rome)];
  const completion = { choices: [{ message: { role: "assistant", tool_calls }, finish_reason: "eos" }] };
  const { calls, cutOff } = PROTOCOLS.openai(registry).read(completion);
  expect(calls).toEqual([{ id: "0", name: "weather", arguments: rome }]);
  expect(cutOff).toBe(false);
});

test("a provider's exception in a stream of Bedrock is an error", () => {
  const stream = PROTOCOLS.bedrock(registry).stream();
  const event = { modelStreamErrorException: { message: "x" } };
  expect(streamRefusal(stream, () => stream.pushEvent(event))).toBe(
    "event 1: /modelStreamErrorException reports a provider error",
  );
});

test.each(
  Object.keys(PROTOCOLS) as Format[],
)("the body of a response that failed is no message without calls (%s)", (format) => {
  for (const body of [
    { error: { code: 429, message: "slow down" } },
    { type: "error", error: { type: "x" } },
  ]) {
    for (const given of [body, JSON.stringify(body)]) {
      expect(() => PROTOCOLS[format](registry).read(given)).toThrow("/error reports a provider error");
    }
  }
});

test("a prompt that Google blocks is a message that was cut off, also as a stream", () => {
  const blocked = { promptFeedback: { blockReason: "SAFETY" }, usageMetadata: { promptTokenCount: 4 } };
  const { calls, cutOff, stopReason } = PROTOCOLS.google(registry).read(blocked);
  expect({ calls, cutOff, stopReason }).toEqual({ calls: [], cutOff: true, stopReason: "SAFETY" });
  const stream = PROTOCOLS.google(registry).stream();
  expect([...stream.push(`data: ${JSON.stringify(blocked)}\n\n`), ...stream.end()]).toEqual([]);
  expect(stream).toMatchObject({ cutOff: true, stopReason: "SAFETY" });
});
