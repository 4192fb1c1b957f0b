import { expect } from "vitest";
import type { ToolCall } from "../../src/engine/call.ts";
import type { CallStream } from "../../src/protocols/call-stream.ts";
import { ProtocolError } from "../../src/protocols/parsing/shape.ts";
import type { ProviderProtocol } from "../../src/protocols/protocol.ts";
import type { AssistantTurn } from "../../src/protocols/turn.ts";

/**
 * Writes server-sent events. Events with a `type` get an `event` field, like those of Anthropic and OpenAI Responses.
 */
export function toServerSentEvents(events: readonly object[], lineEnd = "\n"): string {
  return events
    .map((event) => {
      const name = "type" in event ? `event: ${event.type}${lineEnd}` : "";
      return `${name}data: ${JSON.stringify(event)}${lineEnd}${lineEnd}`;
    })
    .join("");
}

/** Reads all chunks of a stream. */
export function readAll(protocol: ProviderProtocol, pieces: readonly (Uint8Array | string)[]): AssistantTurn {
  const stream = protocol.stream();
  const calls = pieces.flatMap((piece) => stream.push(piece));
  calls.push(...stream.end());
  return turnOf(stream, calls);
}

/** Returns the message that a stream has read. */
export function turnOf(stream: CallStream, calls: readonly ToolCall[]): AssistantTurn {
  const { text, other, stopReason, cutOff, providerData } = stream;
  return { calls, text, other, stopReason, cutOff, ...(providerData && { providerData }) };
}

/** Reads events in every notation and split at every byte, and checks that the result is the same. */
export function readEvents(
  protocol: ProviderProtocol,
  events: readonly object[],
): ReturnType<typeof readAll> {
  const read = readAll(protocol, [toServerSentEvents(events)]);
  const bytes = new TextEncoder().encode(toServerSentEvents(events, "\r\n"));
  for (let at = 1; at < bytes.length; at++) {
    expect(readAll(protocol, [bytes.subarray(0, at), bytes.subarray(at)])).toEqual(read);
  }
  const lines = events.map((event) => JSON.stringify(event)).join("\n");
  expect(
    readAll(
      protocol,
      [...new TextEncoder().encode(lines)].map((byte) => Uint8Array.of(byte)),
    ),
  ).toEqual(read);
  const stream = protocol.stream();
  const calls = [...events.flatMap((event) => stream.pushEvent(event)), ...stream.end()];
  expect(turnOf(stream, calls)).toEqual(read);
  return read;
}

/** Returns the error message of a stream. */
export function streamRefusal(stream: CallStream, push: (stream: CallStream) => unknown): string {
  try {
    push(stream);
  } catch (error) {
    expect(error).toBeInstanceOf(ProtocolError);
    return (error as ProtocolError).message;
  }
  return expect.fail("the stream was accepted");
}
