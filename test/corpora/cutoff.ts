import { readFileSync } from "node:fs";
import { afterAll, describe, expect, test } from "vitest";
import type { ToolCall } from "../../src/engine/call.ts";
import { ToolRegistry } from "../../src/engine/registry.ts";
import { PROTOCOLS } from "../../src/protocols/by-format.ts";
import { EventParser } from "../../src/protocols/event-parser.ts";
import type { Format } from "../../src/protocols/formats.ts";
import { ProtocolError } from "../../src/protocols/parsing/shape.ts";
import { STOP_REASONS } from "../../src/protocols/parsing/stop-reasons.ts";

/** A recorded response. */
interface Recording {
  readonly file: string;
  readonly format: string;
  readonly stream: boolean;
}

const FORMATS: Readonly<Record<string, Format>> = {
  "openai-chat": "openai",
  "openai-responses": "openai-responses",
  "anthropic-messages": "anthropic",
  "google-generate": "google",
  "cohere-v2": "cohere",
  "bedrock-converse": "bedrock",
};

/** The events with which each provider ends a message for a reason. */
const LAST: Readonly<Record<string, (reason: string) => readonly object[]>> = {
  openai: (reason) => [{ choices: [{ index: 0, delta: {}, finish_reason: reason }] }],
  "openai-responses": (reason) => [
    { type: "response.incomplete", response: { status: "incomplete", incomplete_details: { reason } } },
  ],
  anthropic: (reason) => [
    { type: "message_delta", delta: { stop_reason: reason } },
    { type: "message_stop" },
  ],
  google: (reason) => [{ candidates: [{ finishReason: reason }] }],
  cohere: (reason) => [{ type: "message-end", delta: { finish_reason: reason } }],
  bedrock: (reason) => [{ messageStop: { stopReason: reason } }],
};

/** Members with which whole messages tell why they stopped: [the object's path, the member]. */
const REASON_AT: Readonly<Record<string, readonly [readonly (string | number)[], string]>> = {
  openai: [["choices", 0], "finish_reason"],
  anthropic: [[], "stop_reason"],
  google: [["candidates", 0], "finishReason"],
  cohere: [[], "finish_reason"],
  bedrock: [[], "stopReason"],
};

const folder = `${process.env["SANDGATE_CORPORA"]}/llm`;
const recordings = (JSON.parse(readFileSync(`${folder}/INDEX.json`, "utf8")) as readonly Recording[]).filter(
  ({ format }) => FORMATS[format] !== undefined,
);
const registry = new ToolRegistry();
const formatOf = ({ format }: Recording): Format => FORMATS[format] ?? "native";
const textOf = ({ file }: Recording): string => readFileSync(`${folder}/files/${file}`, "utf8");

/** The reasons for which a message may have ended inside a call, and one that no provider has. */
const reasonsOf = (format: Format): readonly string[] => [
  ...Object.entries(STOP_REASONS[format]).flatMap(([reason, ending]) => (ending === "whole" ? [] : [reason])),
  "brand_new_reason",
];

let cuts = 0;
let refused = 0;
let given = 0;

afterAll(() => {
  console.log(`cutoff: ${cuts} messages cut off, ${given} calls given, all of them complete`);
  console.log(`cutoff: ${refused} streams without their last event, each of them refused`);
});

/** A recording that has stated why it stopped is not cut off by stating another reason. */
const EXPECTED = new Set(["reports a provider error", "contradicts another part of the message"]);

/** Reads events. A report of an error by the provider ends them. */
function read(format: Format, events: readonly unknown[], end: boolean): readonly ToolCall[] {
  const stream = PROTOCOLS[format](registry).stream();
  const calls: ToolCall[] = [];
  try {
    for (const event of events) calls.push(...stream.pushEvent(event));
    if (end) calls.push(...stream.end());
  } catch (error) {
    if (!(error instanceof ProtocolError) || !EXPECTED.has(error.reason)) throw error;
  }
  return calls;
}

const shape = ({ name, arguments: args }: ToolCall): string =>
  `${name} ${typeof args === "string" ? args : JSON.stringify(args)}`;

/** Checks that each call is one of the whole message, in order. */
function check(calls: readonly ToolCall[], whole: readonly ToolCall[]): void {
  expect(calls.map(shape)).toEqual(whole.slice(0, calls.length).map(shape));
  given += calls.length;
}

describe("recorded streams, cut off at every event for every reason", () => {
  test.each(recordings.filter(({ stream }) => stream))("$file", (recording) => {
    const format = formatOf(recording);
    const parser = new EventParser();
    const events = [...parser.push(textOf(recording)), ...parser.end()]
      .filter((text) => text !== "[DONE]")
      .map((text) => JSON.parse(text) as object);
    const whole = read(format, events, false);
    for (let length = 0; length < events.length; length++) {
      const begun = events.slice(0, length);
      for (const reason of reasonsOf(format)) {
        check(read(format, [...begun, ...(LAST[format]?.(reason) ?? [])], true), whole);
        cuts++;
      }
    }
  });
});

describe("recorded streams, ending at every event before the last one", () => {
  test.each(recordings.filter(({ stream }) => stream))("$file", (recording) => {
    const format = formatOf(recording);
    const parser = new EventParser();
    const texts = [...parser.push(textOf(recording)), ...parser.end()].filter((text) => text !== "[DONE]");
    const events = texts.map((text) => JSON.parse(text) as object);
    for (let length = 0; length < events.length; length++) {
      const stream = PROTOCOLS[format](registry).stream();
      try {
        for (const event of events.slice(0, length)) stream.pushEvent(event);
        stream.end();
      } catch (error) {
        expect(error).toBeInstanceOf(ProtocolError);
        refused++;
        continue;
      }
      // Only usage and the like may be missing from a message that passes.
      expect(stream.stopReason, `after ${length} of ${events.length} events`).toBeDefined();
    }
  });
});

describe("recorded messages, cut off for every reason", () => {
  test.each(recordings.filter(({ stream }) => !stream))("$file", (recording) => {
    const format = formatOf(recording);
    const protocol = PROTOCOLS[format](registry);
    const message = JSON.parse(textOf(recording));
    const whole = protocol.read(message).calls;
    const [path, member] = REASON_AT[format] ?? [[], "status"];
    const owner = path.reduce((value, key) => value[key], message);
    for (const reason of reasonsOf(format)) {
      owner[member] = reason;
      const turn = protocol.read(message);
      check(turn.calls, whole);
      expect(turn.stopReason).toBe(reason);
      cuts++;
    }
  });
});
